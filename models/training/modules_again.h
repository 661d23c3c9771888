// What a layer's backward pass computes and exchanges again with recompute=modules:...
#pragma once

#include "models/training/layer_times.h"

namespace sgdsim {

// Of a tensor-parallel group pairs of a gather and a scatter, and whether tokens go to their
// experts and come back once more.
struct ExchangesAgain {
  double tensor_pairs = 0;
  bool visits_experts = false;
};
ExchangesAgain exchanges_again(const TrainingStep& step, LayerKind kind);

// Products and element-wise kernels of these modules, as forward.
void add_modules_again(const TrainingStep& step, LayerKind kind, PassTimes& backward);
double kernels_again(const TrainingStep& step, LayerKind kind);

}  // namespace sgdsim
