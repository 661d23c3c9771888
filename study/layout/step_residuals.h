// How far published steps are from predicted ones, for intervals around a prediction.
//
// Of all published steps that ship as cases, the measured time over the predicted one; rows that
// parameters were fitted on do not count. Every source counts alike, however many rows it has: runs
// that were tuned for a benchmark stand beside runs in production and those of a paper. A suite of
// cases is one source. Small models are apart: what nobody counts, gaps between kernels and the
// work of the host, is a larger part of their steps. So are mixtures of experts, whose steps depend
// more on the program and the host than on the machine.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "study/validate/case_file.h"

namespace sgdsim {

enum class StepClass : uint8_t { small, large, experts };
inline constexpr std::array step_classes = {StepClass::small, StepClass::large, StepClass::experts};
StepClass class_of(int64_t parameters, bool has_experts);

struct StepResiduals {
  bool plays = false;  // fidelity message
  StepClass kind = StepClass::small;
  int steps = 0;
  const char* sources = "";
  double low = 1;   // one in twenty steps took less than so many times its prediction
  double high = 1;  // and one in twenty more than so many times
};

inline constexpr int64_t large_model = 10'000'000'000;  // parameters

// From the cases that ship (a test computes them again), rounded outwards to a percent.
const StepResiduals& step_residuals(bool plays, StepClass kind);
std::string text_of(const StepResiduals& residuals);

// The same from cases, whose rows are of either fidelity; without names of sources.
StepResiduals residuals_of(std::span<const CaseFile> cases, bool plays, StepClass kind);

}  // namespace sgdsim
