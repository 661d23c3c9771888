// Playing the points of a sweep on several threads, and writing them in order.
#pragma once

#include <functional>
#include <ostream>
#include <string>
#include <vector>

#include "study/figures.h"
#include "study/step/warnings.h"
#include "study/sweep/sweep_file.h"

namespace sgdsim {

// A column of which the least is asked, or the most.
struct Objective {
  std::string column;  // empty: none
  bool is_most = false;
  const char* option() const { return is_most ? "--maximize" : "--minimize"; }
};

struct SweepOptions {
  std::string out = "-";  // "": nowhere
  int threads = 1;
  Shard shard;
  bool resume = false;
  bool force = false;
  std::vector<std::string> columns;  // a table of these instead of lines; cannot be resumed
  Objective objective;               // whose value `each` is told
  bool wants_rows = false;           // `each` is told the row of every point
};

struct SweepOutcome {
  int64_t points = 0;  // of the shard
  int64_t done = 0;    // that are in the output now
  int64_t failed = 0;  // of them
  bool interrupted = false;
  bool kept_old = false;  // an interrupted run that would have replaced a file
  double seconds = 0;
  WarningTally warnings;  // of the points in the output
};

// Who looks on; nobody needs to.
struct SweepWatch {
  std::function<bool()> is_interrupted = {};  // asked after every batch
  std::function<void()> finishes = {};        // interrupted: points that have begun are finished
  std::function<void()> amid =
      {};  // called by all threads amid points; Interrupted drops the point
  // So many are done, of which some were in the file already.
  std::function<void(int64_t done, int64_t there, int64_t total)> reached = {};
};

// A point that is done, in order; those that were in the file already come first.
struct DonePoint {
  Json axes;
  double objective = 0;  // not a number if the point failed
  std::vector<std::string> warnings = {};
  bool is_bound = false;  // its strategy is one that no program runs
  Figures row = {};       // if it is wanted, and the point was not in the file already
};

// Results are the same for any number of threads, and whether it was interrupted and resumed or
// not. Throws InputError before the first point if anything cannot be used, std::runtime_error if
// the output fails later.
SweepOutcome run_sweep(const Sweep& sweep, const SweepOptions& options, std::ostream& out,
                       const std::function<void(DonePoint&&)>& each, const SweepWatch& watch = {});

// An InputError if points of this sweep have no such columns.
void check_columns_of(const Sweep& sweep, const std::vector<std::string>& columns,
                      const std::string& where);

// Likewise, and if it is no number in any of them, or the other way round is better.
void check_objective(const Sweep& sweep, const Objective& objective);

// Seconds that one point takes on one thread, from playing some.
double seconds_per_point(const Sweep& sweep);

}  // namespace sgdsim
