// A training step of a layout on the wires of a cluster: every GPU plays its own operations, and
// all messages share links max-min fairly (sim/net/flows.h).
#pragma once

#include "models/training/hybrid_step.h"
#include "models/training/played_step.h"
#include "sim/net/link_use.h"

namespace sgdsim {

struct StepOnWires {
  HybridStep step;  // the mean; parts are those of the GPU that ends last
  Duration fastest;
  Duration slowest;
  // Of the last iteration.
  uint64_t messages = 0;
  double wire_B = 0;
  int64_t last_gpu = 0;
  WireUse wires;
};

StepOnWires play_on_wires(const TrainingStep& step, const Cluster& cluster, GroupTimes& groups,
                          const RouteChoice& routes, const LayoutPlay& options = {});

}  // namespace sgdsim
