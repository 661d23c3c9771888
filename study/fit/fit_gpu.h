// `sgdsim fit --gpu`: a GPU file with what was measured on a GPU in place of another one's figures.
#pragma once

#include <string>
#include <vector>

#include "models/training/gpu.h"
#include "sim/core/json.h"
#include "study/fit/fit_question.h"

namespace sgdsim {

struct MeasuredProduct {
  double flop = 0;
  Duration time;
  double part = 0;  // of the base's peak
};

struct MeasuredAttention {
  std::string pass;  // forward, backward
  double flop = 0;
  Duration time;
  double part = 0;
};

struct GpuFit {
  Json file;  // sgdsim/gpu/1
  std::vector<MeasuredProduct> products;
  double memory_Bps = 0;  // 0: no copy was measured
  Duration kernel;        // likewise
  std::vector<MeasuredAttention> attention;
  std::vector<Interference> interference;
  std::vector<std::string> notes;
};

// InputError where something is faster than the base's peaks, or nothing of a GPU was measured.
GpuFit fit_gpu(const FitArguments& arguments);
void print(std::ostream& out, const GpuFit& fit);

}  // namespace sgdsim
