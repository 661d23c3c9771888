// How long the links of a GPU carry bytes in a step of the closed form: those inside a node, and
// its way to other nodes (PCIe, card and uplinks, the slowest of them).
//
// Only bytes count, over the rates that the closed form has; start-ups leave links idle. It holds
// for rings and direct exchanges only.
#pragma once

#include "models/training/played_step.h"

namespace sgdsim {

GroupTimes::Busy link_load(const TrainingStep& step, GroupTimes& groups, int64_t stage);
// Of the stage where each is longest.
GroupTimes::Busy link_load(const TrainingStep& step, GroupTimes& groups);

// Exchanges that lie under the same passes share links: what the busiest link carries bytes for
// longer than the step is waited for, too. Other collectives than rings and
// direct exchanges leave the step as it is.
void wait_for_links(const TrainingStep& step, GroupTimes& groups, HybridStep& result);
// The closed form, and the passes as they are simulated, with that; ranks stay as simulated.
// With exchanges between sites, where there are several.
HybridStep step_on_links(const TrainingStep& step, GroupTimes& groups);
PlayedStep play_on_links(const TrainingStep& step, GroupTimes& groups, const LayoutPlay& play = {},
                         bool wants_slices = false);

}  // namespace sgdsim
