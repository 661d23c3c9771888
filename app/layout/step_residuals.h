// How far published steps are from predicted ones, for intervals around a prediction.
//
// Of all published steps that ship as cases, the measured time over the predicted one; rows that
// parameters were fitted on do not count. Small models are apart: what nobody counts, gaps between
// kernels and the work of the host, is a larger part of their steps.
#pragma once

#include <span>
#include <string>

#include "app/validate/case_file.h"

namespace sgdsim {

struct StepResiduals {
  bool plays = false;  // fidelity message
  bool is_large = false;
  int steps = 0;
  double p10 = 1;  // one in ten steps took less than so many times its prediction
  double p90 = 1;  // and one in ten more than so many times
};

inline constexpr int64_t large_model = 10'000'000'000;  // parameters

// From the cases that ship (a test computes them again).
const StepResiduals& step_residuals(bool plays, int64_t parameters);
std::string text_of(const StepResiduals& residuals);

// The same from cases, whose rows are of either fidelity.
StepResiduals residuals_of(std::span<const CaseFile> cases, bool plays, bool is_large);

}  // namespace sgdsim
