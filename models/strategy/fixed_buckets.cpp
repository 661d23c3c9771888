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

struct Sizes {
  std::vector<Bytes> sizes;
  std::string where;
};

// Every bucket ends with the last byte of a gradient, and together they hold all.
GradientPlan plan_of(const PlanInput& input, const Sizes& given) {
  const std::vector<int> layers = layers_with_gradients(input.trace);
  GradientPlan plan;
  std::size_t next = 0;
  for (std::size_t i = 0; i < given.sizes.size(); ++i) {
    const std::size_t first = next;
    Bytes pending;
    while (next < layers.size() && pending < given.sizes[i])
      pending += gradient_of(input, layers[next++]);
    if (pending != given.sizes[i])
      throw InputError(given.where + "/" + std::to_string(i),
                       "expected a bucket of whole gradients; with this one they add up to " +
                           to_text(pending) + ", not to " + to_text(given.sizes[i]));
    plan.messages.push_back(message_of(input.trace, layers[next - 1], layers[first]));
  }
  if (next < layers.size())
    throw InputError(given.where, "hold " + std::to_string(next) + " of " +
                                      std::to_string(layers.size()) + " gradients");
  return plan;
}

Strategy read_sizes(const Value& list) {
  Sizes given{{}, list.where()};
  for (const Value& size : list.items()) {
    given.sizes.push_back(size.bytes());
    if (given.sizes.back() == Bytes(0)) size.fail("expected a bucket of more than 0 B");
  }
  return {.name = "", .plan = [given](const PlanInput& input) { return plan_of(input, given); }};
}

Strategy read(Object& fields) {
  const auto sizes = fields.find("sizes");
  const auto field = fields.find("bucket");
  if (sizes && field) field->fail("give \"bucket\" or \"sizes\", not both");
  if (sizes) return read_sizes(*sizes);
  const Bytes bucket = field ? field->bytes() : Bytes(25 << 20);
  return {.name = "", .plan = [bucket](const PlanInput& input) { return plan(input, bucket); }};
}

}  // namespace

StrategyKind describe() {
  return {"fixed_buckets",
          "close a message at `bucket` bytes (25 MiB), or buckets of these `sizes`", read};
}

}  // namespace sgdsim::strategy::fixed_buckets
