// The time line of BSP-SGD as in the LP paper: one collective at a time, layer by layer.
#pragma once

#include <vector>

#include "models/strategy/strategy.h"

namespace sgdsim {

struct BspLayer {
  Duration forward;
  Duration backward;
  Duration broadcast;  // of the parameters, before the forward; zero without a root
  Duration reduce;     // of the gradients, or their all-reduce
};

struct BspTimeline {
  Duration forward_end;
  Duration backward_end;
  Duration end;                        // of the last collective
  std::vector<Duration> ready;         // of each gradient
  std::vector<Duration> reduce_start;  // of each reduction
};

BspTimeline bsp_timeline(BspForm form, const std::vector<BspLayer>& layers);

}  // namespace sgdsim
