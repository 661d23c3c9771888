// Differences of pairs, then one offset per worker along the pairs.
#include "models/diagnose/clocks.h"

#include <algorithm>
#include <cstdlib>
#include <map>

namespace sgdsim::diagnose {
namespace {

// An exchange that ends so long before another member of its group begins it is an error of clocks:
// a part of what it lasts, but neither what stamps are rounded to nor what anybody would notice.
constexpr int64_t part_that_disagrees = 4;
constexpr int64_t least_disagreement_ns = 20'000;
constexpr int64_t most_disagreement_ns = 1'000'000;
constexpr double share_that_disagrees = 0.1;
constexpr int64_t smallest_offset_ns = 20'000;
constexpr int64_t farthest_apart_ns = 100'000'000'000'000;  // over a day: nobody means that

int64_t median_ns(std::vector<int64_t> values) {
  const auto half = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), half, values.end());
  return *half;
}

// Pair by pair: most exchanges of a pipeline are between stages of a replica, whose clock may be
// one, so that few of all say that the clocks of replicas differ.
bool contradicts_itself(const StepWork& work) {
  struct Counted {
    double exchanges = 0;
    double early = 0;
  };
  std::map<std::pair<int32_t, int32_t>, Counted> pairs;
  for (const StepWork::EndDifference& one : work.end_differences) {
    Counted& counted = pairs[{one.worker, one.other}];
    ++counted.exchanges;
    const int64_t disagreement_ns = std::clamp(one.shorter_ns / part_that_disagrees,
                                               least_disagreement_ns, most_disagreement_ns);
    if (one.early_ns > disagreement_ns) ++counted.early;
  }
  return std::any_of(pairs.begin(), pairs.end(), [](const auto& pair) {
    return pair.second.early > share_that_disagrees * pair.second.exchanges;
  });
}

}  // namespace

// The end of a send says little: buffers take what nobody receives yet.
StepWork::EndDifference end_difference(const StepRecord& record, const RecordedOperation& first,
                                       const RecordedOperation& other) {
  const int64_t other_early_ns = first.start_ns - other.end_ns;
  const int64_t first_early_ns = other.start_ns - first.end_ns;
  return {record.worker_of(first), record.worker_of(other), other.end_ns - first.end_ns,
          is_between_stages(first.kind) ? other_early_ns : std::max(other_early_ns, first_early_ns),
          std::min(first.end_ns - first.start_ns, other.end_ns - other.start_ns)};
}

std::vector<int64_t> clock_offsets(const StepWork& work) {
  std::map<std::pair<int32_t, int32_t>, std::vector<int64_t>> differences;
  for (const StepWork::EndDifference& one : work.end_differences) {
    differences[{one.worker, one.other}].push_back(one.ns);
    differences[{one.other, one.worker}].push_back(-one.ns);
  }
  const auto workers = static_cast<std::size_t>(work.workers());
  std::vector<std::vector<std::pair<int32_t, int64_t>>> next(workers);
  for (auto& [pair, some] : differences)
    next[static_cast<std::size_t>(pair.first)].emplace_back(pair.second,
                                                            median_ns(std::move(some)));
  std::vector<int64_t> offsets(workers, 0);
  std::vector<bool> known(workers, false);
  std::vector<int32_t> order = {0};
  known[0] = true;
  for (std::size_t i = 0; i < order.size(); ++i)
    for (const auto& [other, ns] : next[static_cast<std::size_t>(order[i])]) {
      const auto to = static_cast<std::size_t>(other);
      if (known[to]) continue;
      known[to] = true;
      offsets[to] = std::clamp(offsets[static_cast<std::size_t>(order[i])] + ns, -farthest_apart_ns,
                               farthest_apart_ns);
      order.push_back(other);
    }
  return offsets;
}

ClockedWork clocked_work(StepRecord record, ClockRule rule, Clocks clocks) {
  ClockedWork result{work_of(record), std::nullopt};
  if (rule == ClockRule::recorded || (rule == ClockRule::by_record && clocks == Clocks::one))
    return result;
  const std::vector<int64_t> offsets = clock_offsets(result.work);
  int64_t largest = 0;
  for (const int64_t one : offsets) largest = std::max(largest, std::abs(one));
  const bool disagree =
      contradicts_itself(result.work) || (clocks == Clocks::apart && largest > smallest_offset_ns);
  if (rule == ClockRule::by_record && !disagree) return result;
  for (RecordedOperation& one : record.operations) {
    const int64_t offset = offsets[static_cast<std::size_t>(record.worker_of(one))];
    one.start_ns -= offset;
    one.end_ns -= offset;
  }
  return {work_of(record), largest};
}

}  // namespace sgdsim::diagnose
