// How long the links of a GPU carry bytes in a step of the closed form: those inside a node, and
// its way to other nodes (PCIe, card and uplinks, the slowest of them).
//
// Only bytes count, over the rates that the closed form has; start-ups leave links idle. A rank of
// the slowest stage stands for all. It holds for rings and direct exchanges only.
#pragma once

#include "models/training/hybrid_step.h"

namespace sgdsim {

GroupTimes::Busy link_load(const TrainingStep& step, GroupTimes& groups, int64_t stage);

}  // namespace sgdsim
