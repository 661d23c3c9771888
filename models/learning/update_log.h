// What learning needs to know of the schedule: who adds to which part of the weights, in which
// order, and which weights each gradient was computed with. Equal logs learn equally.
//
// Where iterations are common, a rule says it all: the sums of iteration t are used at t + width -
// 1; or every worker takes `every` steps by itself, before all average. Such a log does not depend
// on times. Where workers do not wait for each other, the log is what they changed and read of the
// servers' parts, in this order, which says what versions each gradient mixes. A worker reads a
// part right after its own change of it, unless a bound holds the answer back.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <vector>

namespace sgdsim::learning {

struct Visit {
  int worker = 0;
  int part = 0;
  bool changes = true;
  bool reads = true;  // afterwards
};

// A worker that is not there from one iteration on until before another.
struct Absence {
  int worker = 0;
  int64_t from = 0;
  int64_t until = std::numeric_limits<int64_t>::max();
};

struct UpdateLog {
  int workers = 1;
  int width = 1;
  int64_t synchronous = 0;  // the first iterations, with width 1
  int every = 1;
  // Not empty: these, and none of the above but `workers`.
  std::vector<Visit> visits;
  int parts = 1;  // into which servers cut the weights

  // Sums and averages are of those that are there, and divided by their number. With several steps
  // between averages, who was away takes part again after the next average.
  std::vector<Absence> absences;

  bool is_asynchronous() const { return !visits.empty(); }
  bool is_there(int worker, int64_t iteration) const;
  std::vector<int> those_there(int64_t iteration) const;  // in order
  int there(int64_t iteration) const;                     // how many
};

// How often the gradients of so many iterations missed so many updates of the parameters (of the
// first part).
std::map<int64_t, int64_t> staleness_of(const UpdateLog& log, int64_t iterations);

}  // namespace sgdsim::learning
