// Statistics of steps; a time that is the mean of several counts as often.
#include "traces/steps/step_run.h"

#include <algorithm>
#include <cassert>
#include <numeric>
#include <utility>

namespace sgdsim {
namespace {

struct Timed {
  double ps = 0;
  double steps = 1;  // that it is the mean of
};

std::vector<Timed> timed_of(const StepRun& run) {
  std::vector<Timed> all;
  for (std::size_t i = 0; i < run.steps.size(); ++i)
    all.push_back({.ps = static_cast<double>(run.steps[i].ps()),
                   .steps = run.stands_for.empty() ? 1 : static_cast<double>(run.stands_for[i])});
  return all;
}

// The least that so many percent of the steps do not exceed, and the next one where it is just so
// many.
std::pair<double, double> around(const std::vector<Timed>& sorted, double percent) {
  double all = 0;
  for (const Timed& one : sorted) all += one.steps;
  double below = 0;
  std::size_t i = 0;
  while (i + 1 < sorted.size() && 100 * (below + sorted[i].steps) < percent * all)
    below += sorted[i++].steps;
  const bool is_just = 100 * (below + sorted[i].steps) == percent * all && i + 1 < sorted.size();
  return {sorted[i].ps, sorted[is_just ? i + 1 : i].ps};
}

// How many of the first times are of compiling, connecting and filling caches: at most one, or a
// tenth of all.
std::size_t warm_up_of(const std::vector<Timed>& all, double median_ps) {
  constexpr double much_longer = 1.5;
  const std::size_t most = all.size() < 3 ? 0 : std::max<std::size_t>(1, all.size() / 10);
  std::size_t count = 0;
  while (count < most && all[count].ps > much_longer * median_ps) ++count;
  return count;
}

// None if all take the same.
std::optional<double> autocorrelation_of(const std::vector<Timed>& all) {
  double sum = 0;
  for (const Timed& one : all) sum += one.ps;
  const double mean = sum / static_cast<double>(all.size());
  double squares = 0;
  double neighbours = 0;
  for (std::size_t i = 0; i < all.size(); ++i) {
    squares += (all[i].ps - mean) * (all[i].ps - mean);
    if (i > 0) neighbours += (all[i].ps - mean) * (all[i - 1].ps - mean);
  }
  if (squares == 0) return std::nullopt;
  return neighbours / squares;
}

}  // namespace

int64_t steps_of(const StepRun& run) {
  if (run.stands_for.empty()) return static_cast<int64_t>(run.steps.size());
  static constexpr int64_t most = int64_t{1} << 53;  // a log may say anything
  return std::accumulate(run.stands_for.begin(), run.stands_for.end(), int64_t{0},
                         [](int64_t sum, int64_t one) { return std::min(most, sum + one); });
}

StepSummary summary_of(const StepRun& run) {
  assert(!run.steps.empty());
  const std::vector<Timed> all = timed_of(run);
  std::vector<Timed> sorted = all;
  std::sort(sorted.begin(), sorted.end(),
            [](const Timed& a, const Timed& b) { return a.ps < b.ps; });
  const auto [middle, next] = around(sorted, 50);
  StepSummary summary;
  summary.median = Duration::nearest_ps((middle + next) / 2);
  summary.p95 = Duration::nearest_ps(around(sorted, 95).first);
  summary.autocorrelation = autocorrelation_of(all);
  const std::size_t warm_up = warm_up_of(all, (middle + next) / 2);
  double steps = 0;
  double sum = 0;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (i < warm_up) {
      summary.warm_up += static_cast<int64_t>(all[i].steps);
      continue;
    }
    steps += all[i].steps;
    sum += all[i].steps * all[i].ps;
  }
  const double mean = sum / steps;
  summary.mean = Duration::nearest_ps(mean);
  if (run.global_batch)
    summary.samples_per_s = static_cast<double>(*run.global_batch) / mean * 1e12;
  return summary;
}

}  // namespace sgdsim
