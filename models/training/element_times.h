// What a layer costs a rank besides products, attention and bytes on links: element-wise kernels,
// casts, and the gaps between kernels.
#pragma once

#include "models/training/layer_times.h"

namespace sgdsim {

void add_element_wise(const TrainingStep& step, LayerKind kind, LayerTimes& times);
// Kernels of a layer in a pass besides products, attention and casts; exchanges are kernels, too.
double element_kernels(const TrainingStep& step, LayerKind kind);
// Of the modules that the backward pass computes again, without their products: as forward.
struct ElementsAgain {
  double seconds = 0;
  double kernels = 0;
};
ElementsAgain elements_again(const TrainingStep& step, LayerKind kind);

}  // namespace sgdsim
