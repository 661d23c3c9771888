// Counting what gradients did not know.
#include "models/learning/update_log.h"

#include <algorithm>

namespace sgdsim::learning {

namespace {

// Between the average before and this iteration.
bool is_away(const Absence& one, int64_t iteration, int every) {
  return one.from <= iteration && one.until > iteration - iteration % every;
}

}  // namespace

bool UpdateLog::is_there(int worker, int64_t iteration) const {
  return std::none_of(absences.begin(), absences.end(), [&](const Absence& one) {
    return one.worker == worker && is_away(one, iteration, every);
  });
}

std::vector<int> UpdateLog::those_there(int64_t iteration) const {
  std::vector<bool> away(static_cast<std::size_t>(workers));
  for (const Absence& one : absences)
    if (is_away(one, iteration, every)) away[static_cast<std::size_t>(one.worker)] = true;
  std::vector<int> there;
  for (int worker = 0; worker < workers; ++worker)
    if (!away[static_cast<std::size_t>(worker)]) there.push_back(worker);
  return there;
}

int UpdateLog::there(int64_t iteration) const {
  return absences.empty() ? workers : static_cast<int>(those_there(iteration).size());
}

std::map<int64_t, int64_t> staleness_of(const UpdateLog& log, int64_t iterations) {
  std::map<int64_t, int64_t> counts;
  if (!log.is_asynchronous()) {
    // The first sums are computed with weights that nothing was to change.
    for (int64_t t = 0; t < iterations; ++t) {
      const int64_t behind =
          t < log.synchronous ? 0 : std::min<int64_t>(t - log.synchronous, log.width - 1);
      counts[behind] += log.there(t);
    }
    return counts;
  }
  std::vector<int64_t> read(static_cast<std::size_t>(log.workers));
  int64_t version = 0;
  int64_t left = iterations * log.workers * log.parts;  // changes; the log goes on for longer
  for (const Visit& visit : log.visits) {
    if (visit.changes && left-- == 0) break;
    if (visit.part != 0) continue;
    int64_t& own = read[static_cast<std::size_t>(visit.worker)];
    if (visit.changes) ++counts[version++ - own];
    if (visit.reads) own = version;
  }
  return counts;
}

}  // namespace sgdsim::learning
