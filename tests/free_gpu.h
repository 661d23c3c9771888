// A GPU on which nothing but products and attention takes time: half of 100 TFLOP/s, whatever their
// size.
#pragma once

#include "models/training/gpu.h"

namespace sgdsim {

inline constexpr double free_flops = 5e13;

inline Gpu free_gpu() {
  Gpu gpu;
  gpu.name = "free";
  gpu.bf16_flops = 2 * free_flops;
  gpu.memory_rate = Bandwidth::Bps(1e30);
  gpu.gemm = {{1e-6, 0.5}};
  gpu.start_gflop = 0;
  gpu.any_attention.forward = 0.5;
  gpu.any_attention.backward = 0.5;
  return gpu;
}

}  // namespace sgdsim
