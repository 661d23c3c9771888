// What a layer costs a rank besides products, attention and bytes on links: element-wise kernels,
// casts, and the gaps between kernels.
#pragma once

#include "models/training/layer_times.h"

namespace sgdsim {

void add_element_wise(const TrainingStep& step, LayerKind kind, LayerTimes& times);

}  // namespace sgdsim
