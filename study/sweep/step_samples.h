// How many samples a step has at the points of a sweep: more nodes, larger batches and more
// micro-batches have more, and a shorter step is then no faster training.
#pragma once

#include <string>
#include <vector>

#include "study/sweep/sweep_file.h"

namespace sgdsim {

inline constexpr char throughput_column[] = "metrics.throughput_samples_per_s";

struct StepSamples {
  bool differ = false;
  bool are_known = true;  // all traces say their batch
};
// Along each of these axes, beside the first values of the others; of long axes some values.
StepSamples step_samples(const Sweep& sweep, const std::vector<std::string>& axes);
StepSamples step_samples(const Sweep& sweep);              // along all
StepSamples step_samples_beside_base(const Sweep& sweep);  // and those of the base

// What to know where the best of points is chosen along these axes by the time of a step; empty if
// there is nothing.
std::string warn_of_samples(const std::string& column, const StepSamples& samples);

}  // namespace sgdsim
