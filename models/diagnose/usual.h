// What operations usually take: the yardstick of repairs.
#pragma once

#include <vector>

#include "models/diagnose/step_work.h"

namespace sgdsim::diagnose {

// Of at least one value; like median_of(), in linear time.
double median(std::vector<double> values);

// Mean lengths of passes by stage, in picoseconds.
struct StageTimes {
  std::vector<double> forward;
  std::vector<double> backward;

  double of(int stage, Recorded kind) const {
    return (kind == Recorded::forward ? forward : backward)[static_cast<std::size_t>(stage)];
  }
  double total(int stage) const {
    return of(stage, Recorded::forward) + of(stage, Recorded::backward);
  }
  double mean_of_others(int stage, Recorded kind) const;
};
StageTimes stage_times(const StepWork& work);

// The median length of a worker's passes of a type, in picoseconds; 0: it has none.
class WorkerMedians {
 public:
  explicit WorkerMedians(const StepWork& work);
  double of(int worker, int type) const {
    return medians_[static_cast<std::size_t>(worker) * types_ + static_cast<std::size_t>(type)];
  }

 private:
  std::size_t types_;
  std::vector<double> medians_;
};

}  // namespace sgdsim::diagnose
