// Counting what gradients did not know.
#include "models/learning/update_log.h"

#include <algorithm>

namespace sgdsim::learning {

std::map<int64_t, int64_t> staleness_of(const UpdateLog& log, int64_t iterations) {
  std::map<int64_t, int64_t> counts;
  if (!log.is_asynchronous()) {
    // The first sums are computed with weights that nothing was to change.
    for (int64_t t = 0; t < iterations; ++t) {
      const int64_t behind =
          t < log.synchronous ? 0 : std::min<int64_t>(t - log.synchronous, log.width - 1);
      counts[behind] += log.workers;
    }
    return counts;
  }
  std::vector<int64_t> read(static_cast<std::size_t>(log.workers));
  int64_t version = 0;
  for (const Push& push : log.pushes) {
    if (push.part != 0) continue;
    int64_t& own = read[static_cast<std::size_t>(push.worker)];
    ++counts[version - own];
    own = ++version;
  }
  return counts;
}

}  // namespace sgdsim::learning
