// Means and medians of recorded lengths.
#include "models/diagnose/usual.h"

#include <algorithm>

namespace sgdsim::diagnose {

double median(std::vector<double> values) {
  const auto half = static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), values.begin() + half, values.end());
  const double upper = *(values.begin() + half);
  if (values.size() % 2 == 1) return upper;
  return (upper + *std::max_element(values.begin(), values.begin() + half)) / 2;
}

double margin_of_slow(std::vector<double> ratios) {
  constexpr double least = 0.05;
  constexpr double deviations = 5;
  constexpr double of_lower_quartile = 0.6745;
  if (ratios.empty()) return least;
  const auto quarter = static_cast<std::ptrdiff_t>(ratios.size() / 4);
  std::nth_element(ratios.begin(), ratios.begin() + quarter, ratios.end());
  const double quartile = *(ratios.begin() + quarter);
  const double middle = median(std::move(ratios));
  if (!(middle > 0)) return least;
  return std::max(least, deviations * (1 - quartile / middle) / of_lower_quartile);
}

double StageTimes::mean_of_others(int stage, Recorded kind) const {
  double sum = 0;
  for (int other = 0; other < static_cast<int>(forward.size()); ++other)
    if (other != stage) sum += of(other, kind);
  return forward.size() > 1 ? sum / static_cast<double>(forward.size() - 1) : of(stage, kind);
}

StageTimes stage_times(const StepWork& work) {
  const auto stages = static_cast<std::size_t>(work.stages);
  StageTimes times{std::vector<double>(stages), std::vector<double>(stages)};
  std::vector<double> counts(2 * stages);
  for (std::size_t i = 0; i < work.nodes.size(); ++i) {
    const Recorded kind = work.nodes[i].kind;
    if (!is_pass(kind)) continue;
    const auto stage = static_cast<std::size_t>(work.stage_of(work.nodes[i].worker));
    (kind == Recorded::forward ? times.forward : times.backward)[stage] +=
        static_cast<double>(work.recorded[i].ps());
    ++counts[2 * stage + (kind == Recorded::forward ? 0 : 1)];
  }
  for (std::size_t stage = 0; stage < stages; ++stage) {
    if (counts[2 * stage] > 0) times.forward[stage] /= counts[2 * stage];
    if (counts[2 * stage + 1] > 0) times.backward[stage] /= counts[2 * stage + 1];
  }
  return times;
}

WorkerMedians::WorkerMedians(const StepWork& work) : types_(work.types.size()) {
  std::vector<std::vector<double>> lengths(static_cast<std::size_t>(work.workers()) * types_);
  for (std::size_t i = 0; i < work.nodes.size(); ++i) {
    const Node& node = work.nodes[i];
    if (is_own_time(node.kind))
      lengths[static_cast<std::size_t>(node.worker) * types_ + static_cast<std::size_t>(node.type)]
          .push_back(static_cast<double>(work.recorded[i].ps()));
  }
  for (std::vector<double>& some : lengths)
    medians_.push_back(some.empty() ? -1 : median(std::move(some)));
}

}  // namespace sgdsim::diagnose
