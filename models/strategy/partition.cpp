// Cutting layers into pieces.
#include "models/strategy/partition.h"

#include <algorithm>

#include "sim/core/error.h"
#include "sim/core/quantity.h"

namespace sgdsim {

constexpr int64_t most_parts = 1'000'000;

GradientPlan plan_partitions(const PlanInput& input, Bytes piece, Bytes credit) {
  const int64_t count = input.trace.gradient().count() / piece.count();
  if (count > most_parts)
    throw InputError("", "pieces of " + to_text(piece) + " cut the gradients into " +
                             std::to_string(count) + ", more than " + std::to_string(most_parts));
  GradientPlan plan;
  plan.order = Order::priority;
  plan.gate = Gate::per_layer;
  plan.credit = credit;
  plan.messages.reserve(input.trace.layers.size() + static_cast<std::size_t>(count));
  // Hashed servers work side by side: pieces that are committed together go to them as one message.
  const ParameterServers* servers = input.cost.servers();
  const bool hashed = servers != nullptr && servers->hashed && servers->servers > 1;
  const int64_t together = hashed ? std::max<int64_t>(1, credit.count() / piece.count()) : 1;
  for (std::size_t l = input.trace.layers.size(); l-- > 0;) {
    const int layer = static_cast<int>(l);
    int64_t number = 0;
    for (Bytes left = input.trace.layers[l].gradient; left.count() > 0; number += together) {
      // Not more pieces than are left: a credit of any size must not overflow.
      const int64_t pieces = std::min(together, left.count() / piece.count() + 1);
      const Bytes size = std::min(left, piece * pieces);
      plan.messages.push_back({layer, layer, size, {}, layer, static_cast<int>(number), piece});
      left = left - size;
    }
  }
  return plan;
}

void check_positive(const Value& size) {
  if (size.bytes().count() == 0)
    size.fail("expected a size of at least 1 B, got \"" + size.text() + "\"");
}

}  // namespace sgdsim
