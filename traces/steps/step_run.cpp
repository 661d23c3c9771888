// Statistics of steps.
#include "traces/steps/step_run.h"

#include <algorithm>
#include <cassert>

#include "sim/core/nearest_rank.h"

namespace sgdsim {

StepSummary summary_of(const StepRun& run) {
  assert(!run.steps.empty());
  std::vector<double> ps;
  for (const Duration step : run.steps) ps.push_back(static_cast<double>(step.ps()));
  const auto count = static_cast<double>(ps.size());
  double sum = 0;
  for (const double one : ps) sum += one;
  const double mean = sum / count;
  double squares = 0;
  double neighbours = 0;
  for (std::size_t i = 0; i < ps.size(); ++i) {
    squares += (ps[i] - mean) * (ps[i] - mean);
    if (i > 0) neighbours += (ps[i] - mean) * (ps[i - 1] - mean);
  }
  StepSummary summary;
  summary.mean = Duration::nearest_ps(mean);
  summary.median = Duration::nearest_ps(median_of(ps));
  if (squares > 0) summary.autocorrelation = neighbours / squares;
  if (run.global_batch)
    summary.samples_per_s = static_cast<double>(*run.global_batch) / mean * 1e12;
  std::sort(ps.begin(), ps.end());
  summary.p95 = Duration::nearest_ps(ps[(ps.size() * 95 + 99) / 100 - 1]);
  return summary;
}

}  // namespace sgdsim
