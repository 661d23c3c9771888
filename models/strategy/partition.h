// Gradients cut into pieces that go by priority: what ByteScheduler and P3 share.
#pragma once

#include "models/strategy/strategy.h"

namespace sgdsim {

// Every layer's gradient in pieces of at most `piece`; layer l has priority l.
GradientPlan plan_partitions(const PlanInput& input, Bytes piece, Bytes credit);

// InputError unless it is a size of at least one byte.
void check_positive(const Value& size);

}  // namespace sgdsim
