// Buckets of a fixed size: a message is closed as soon as at least `bucket` bytes are pending. 0 is
// WFBP; more than the model is everything in one message, still while backward runs.
#include "models/strategy/registry.h"

namespace sgdsim::strategy::fixed_buckets {
namespace {

GradientPlan plan(const PlanInput& input, Bytes bucket) {
  const std::vector<int> layers = layers_with_gradients(input.trace);
  GradientPlan plan;
  std::size_t first = 0;
  Bytes pending;
  for (std::size_t i = 0; i < layers.size(); ++i) {
    pending += input.trace.layers[static_cast<std::size_t>(layers[i])].gradient;
    if (pending < bucket && i + 1 < layers.size()) continue;
    plan.messages.push_back(message_of(input.trace, layers[i], layers[first]));
    first = i + 1;
    pending = Bytes(0);
  }
  return plan;
}

Strategy read(Object& fields) {
  const auto field = fields.find("bucket");
  const Bytes bucket = field ? field->bytes() : Bytes(25 << 20);
  return {.name = "", .plan = [bucket](const PlanInput& input) { return plan(input, bucket); }};
}

}  // namespace

StrategyKind describe() {
  return {"fixed_buckets", "close a message at `bucket` bytes (25 MiB)", read};
}

}  // namespace sgdsim::strategy::fixed_buckets
