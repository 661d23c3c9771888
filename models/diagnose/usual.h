// What operations usually take: the yardstick of repairs.
#pragma once

#include <vector>

#include "models/diagnose/step_work.h"

namespace sgdsim::diagnose {

// Of at least one value; like median_of(), in linear time.
double median(std::vector<double> values);

// By what part more than expected a length must be, so that it is no jitter: five standard
// deviations, at least 5 %. `ratios`: lengths over what was expected of them. Their spread is that
// of the quicker half, which a few slow ones do not widen: the lower quartile of normal values lies
// 0.6745 standard deviations below the median.
double margin_of_slow(std::vector<double> ratios);

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

// What a worker does by itself: its passes, and what else its step holds (Recorded::optimizer: the
// update and, where a record does not tell them apart, loading and idle time).
constexpr bool is_own_time(Recorded kind) { return is_pass(kind) || kind == Recorded::optimizer; }

// The median length of what a worker does by itself, by type, in picoseconds.
class WorkerMedians {
 public:
  explicit WorkerMedians(const StepWork& work);
  bool has(int worker, int type) const { return of(worker, type) >= 0; }
  double of(int worker, int type) const {  // below 0: it has none
    return medians_[static_cast<std::size_t>(worker) * types_ + static_cast<std::size_t>(type)];
  }

 private:
  std::size_t types_;
  std::vector<double> medians_;
};

}  // namespace sgdsim::diagnose
