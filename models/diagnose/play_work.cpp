// Steps are played one by one; each group once all that it waits for has ended.
#include <algorithm>

#include "models/diagnose/step_work.h"

namespace sgdsim::diagnose {

std::vector<Duration> play(const StepWork& work, std::span<const Duration> lengths) {
  std::vector<Duration> ends(work.nodes.size());
  std::vector<Duration> times;
  times.reserve(work.steps.size());
  for (std::size_t step = 0; step < work.steps.size(); ++step) {
    Duration last;
    for (uint32_t group = work.step_first[step]; group < work.step_first[step + 1]; ++group) {
      Duration begin;
      for (uint32_t i = work.waits_first[group]; i < work.waits_first[group + 1]; ++i)
        begin = std::max(begin, ends[work.waits[i]]);
      for (uint32_t node = work.group_first[group]; node < work.group_first[group + 1]; ++node) {
        ends[node] = begin + lengths[node];
        last = std::max(last, ends[node]);
      }
    }
    times.push_back(last);
  }
  return times;
}

double played_s(const StepWork& work, std::span<const Duration> lengths) {
  double sum = 0;
  for (const Duration time : play(work, lengths)) sum += time.s();
  return sum / static_cast<double>(work.steps.size());
}

}  // namespace sgdsim::diagnose
