// What failed when, as a log tells it: of units that are repaired and fail again, or of jobs that
// end one way or another. Times are seconds.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace sgdsim {

// A time in which something ran, from new, or back from repair, until it failed or the log ended.
struct FailureSpell {
  double length_s = 0;
  double units = 1;    // that ran, such as the nodes of a job
  int32_t cause = -1;  // -1: it did not fail
  int32_t unit = -1;   // among those that have names; -1: of none
};

struct FailureRecord {
  struct Unit {
    std::string name;
    double seen_s = 0;
    int64_t failures = 0;
  };
  struct Failure {
    double at_s = 0;  // since the start of the log
    int32_t cause = 0;
  };
  struct Outage {
    int32_t cause = 0;
    double length_s = 0;
  };

  std::string file;
  std::string format;               // what it is, for people
  std::string unit = "node";        // whose rates these are
  std::string runs;                 // what a spell is of: "node", "job", "attempt"
  std::vector<std::string> causes;  // in the order of their first failures
  std::vector<FailureSpell> spells;
  std::string named;               // what has names: "node", "machine"
  std::vector<Unit> units;         // those that have names
  double unit_count = 0;           // of all, also of those that never failed; 0: not known
  double seen_unit_s = 0;          // of all units together
  double length_s = 0;             // of the log
  std::vector<Failure> failures;   // in order
  std::vector<Outage> outages;     // as far as their ends are known
  std::vector<std::string> notes;  // what was left out, and what it rests on
};

}  // namespace sgdsim
