// Buckets of a fixed size: a message is closed as soon as at least `bucket` bytes are pending. 0 is
// WFBP; more than the model is everything in one message, still while backward runs. With `sizes`,
// the buckets that a training step was seen to have, byte by byte.
#include "models/strategy/registry.h"
#include "sim/core/error.h"
#include "sim/core/quantity.h"

namespace sgdsim::strategy::fixed_buckets {
namespace {

Bytes gradient_of(const PlanInput& input, int layer) {
  return input.trace.layers[static_cast<std::size_t>(layer)].gradient;
}

GradientPlan plan(const PlanInput& input, Bytes bucket) {
  const std::vector<int> layers = layers_with_gradients(input.trace);
  GradientPlan plan;
  std::size_t first = 0;
  Bytes pending;
  for (std::size_t i = 0; i < layers.size(); ++i) {
    pending += gradient_of(input, layers[i]);
    if (pending < bucket && i + 1 < layers.size()) continue;
    plan.messages.push_back(message_of(input.trace, layers[i], layers[first]));
    first = i + 1;
    pending = Bytes(0);
  }
  return plan;
}

struct Options {
  Bytes bucket{25 << 20};
  std::vector<Bytes> sizes;
};

Fields fields_of(Options& o) {
  return Fields{{"bucket", o.bucket, "pending bytes at which a message is closed"},
                Field("sizes", o.sizes, "all buckets of a step that was seen, byte by byte")
                    .also([](const Value& list) {
                      for (const Value& size : list.items())
                        if (size.bytes() == Bytes(0))
                          size.fail("expected a bucket of more than 0 B");
                    })}
      .at_most_one({"bucket", "sizes"}, "give \"bucket\" or \"sizes\", not both");
}

// Every bucket ends with the last byte of a gradient, and together they hold all.
GradientPlan plan_of(const PlanInput& input, const std::vector<Bytes>& sizes,
                     const std::string& where) {
  const std::vector<int> layers = layers_with_gradients(input.trace);
  GradientPlan plan;
  std::size_t next = 0;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const std::size_t first = next;
    Bytes pending;
    while (next < layers.size() && pending < sizes[i])
      pending += gradient_of(input, layers[next++]);
    if (pending != sizes[i])
      throw InputError(where + "/" + std::to_string(i),
                       "expected a bucket of whole gradients; with this one they add up to " +
                           to_text(pending) + ", not to " + to_text(sizes[i]));
    plan.messages.push_back(message_of(input.trace, layers[next - 1], layers[first]));
  }
  if (next < layers.size())
    throw InputError(where, "hold " + std::to_string(next) + " of " +
                                std::to_string(layers.size()) + " gradients");
  return plan;
}

Strategy read(Object& fields) {
  const auto options = read_record<Options>(fields);
  if (const auto given = fields.find("sizes"))
    return {.name = "",
            .plan = [sizes = options.sizes, where = given->where()](const PlanInput& input) {
              return plan_of(input, sizes, where);
            }};
  return {.name = "", .plan = [bucket = options.bucket](const PlanInput& input) {
            return plan(input, bucket);
          }};
}

}  // namespace

StrategyKind describe() {
  return {"fixed_buckets",
          "close a message at `bucket` bytes (25 MiB), or buckets of these `sizes`",
          options_of<Options>, read};
}

}  // namespace sgdsim::strategy::fixed_buckets
