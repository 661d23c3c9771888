// From the one that ended last by then, backwards: most wait for the first that is looked at.
#include "models/diagnose/side_by_side.h"

#include <algorithm>
#include <iterator>
#include <numeric>
#include <set>
#include <tuple>

namespace sgdsim::diagnose {
namespace {

// Of short ones a moment is less.
bool ends_before(const RecordedOperation& one, const RecordedOperation& other) {
  const int64_t shorter_ns = std::min(one.end_ns - one.start_ns, other.end_ns - other.start_ns);
  return one.end_ns <= other.start_ns + std::min(same_moment_ns, shorter_ns / 10);
}

}  // namespace

std::vector<std::pair<uint32_t, uint32_t>> waits_of_exchanges(
    const StepRecord& record, const std::vector<uint32_t>& operations,
    std::vector<uint32_t> exchanges) {
  const auto of = [&](uint32_t place) -> const RecordedOperation& {
    return record.operations[operations[place]];
  };
  std::sort(exchanges.begin(), exchanges.end(), [&](uint32_t a, uint32_t b) {
    return std::tuple(of(a).start_ns, of(a).kind, a) < std::tuple(of(b).start_ns, of(b).kind, b);
  });
  std::vector<std::size_t> by_end(exchanges.size());
  std::iota(by_end.begin(), by_end.end(), std::size_t{0});
  std::stable_sort(by_end.begin(), by_end.end(), [&](std::size_t a, std::size_t b) {
    return of(exchanges[a]).end_ns < of(exchanges[b]).end_ns;
  });
  std::vector<std::size_t> rank(exchanges.size());
  for (std::size_t i = 0; i < by_end.size(); ++i) rank[by_end[i]] = i;
  std::set<std::size_t> begun;  // ranks by end of those before this one
  std::vector<std::pair<uint32_t, uint32_t>> waits;
  for (std::size_t i = 0; i < exchanges.size(); ++i) {
    const RecordedOperation& one = of(exchanges[i]);
    const auto late = std::partition_point(by_end.begin(), by_end.end(), [&](std::size_t other) {
      return of(exchanges[other]).end_ns <= one.start_ns + same_moment_ns;
    });
    const auto ended = begun.lower_bound(static_cast<std::size_t>(late - by_end.begin()));
    const auto found =
        std::find_if(std::make_reverse_iterator(ended), begun.rend(),
                     [&](std::size_t at) { return ends_before(of(exchanges[by_end[at]]), one); });
    if (found != begun.rend()) waits.emplace_back(exchanges[i], exchanges[by_end[*found]]);
    begun.insert(rank[i]);
  }
  return waits;
}

}  // namespace sgdsim::diagnose
