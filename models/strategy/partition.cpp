// Cutting layers into pieces.
#include "models/strategy/partition.h"

#include <algorithm>

namespace sgdsim {

GradientPlan plan_partitions(const PlanInput& input, Bytes piece, Bytes credit) {
  GradientPlan plan;
  plan.order = Order::priority;
  plan.gate = Gate::per_layer;
  plan.credit = credit;
  plan.messages.reserve(input.trace.layers.size() +
                        static_cast<std::size_t>(input.trace.gradient().count() / piece.count()));
  for (std::size_t l = input.trace.layers.size(); l-- > 0;) {
    const int layer = static_cast<int>(l);
    for (Bytes left = input.trace.layers[l].gradient; left.count() > 0;) {
      const Bytes size = std::min(left, piece);
      plan.messages.push_back({layer, layer, size, {}, layer});
      left = left - size;
    }
  }
  return plan;
}

Bytes positive_bytes(const Value& value) {
  const Bytes size = value.bytes();
  if (size.count() == 0)
    value.fail("expected a size of at least 1 B, got \"" + value.text() + "\"");
  return size;
}

}  // namespace sgdsim
