// Many runs of one plan: what is to be expected, how it spreads, and how likely a late end is.
//
// The same for any number of threads: a run draws by its number, and sums are of whole picoseconds.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "models/goodput/player.h"

namespace sgdsim::goodput {

struct RunsAsked {
  int64_t count = 10'000;
  uint64_t seed = 1;
  int threads = 1;
  std::function<void()> look = {};  // called now and then; what it throws ends the runs at once
};

// A value of a sample, and the values between which the true one lies with 95 %.
struct Quantile {
  double value_s = 0;
  double from_s = 0;
  double to_s = 0;
};

struct Runs {
  std::vector<LongPs> walls;  // by size
  LongPs wall = 0;            // the mean, which is the sum of the parts
  Account account{};          // the mean
  double deviation_s = 0;     // of a run
  double failures = 0;        // the mean
  double events = 0;          // the mean

  double standard_error_s() const;  // of the mean
  double productive() const { return to_s(account[0]) / to_s(wall); }
  Quantile quantile(double part) const;
  double part_later_than(double deadline_s) const;
};

Runs play_runs(const Plan& plan, const RunsAsked& asked);

// How far the runs are at a moment, of all work: what rolls back is not kept.
struct Progress {
  double at_s = 0;
  double low = 0;  // 5 % of the runs are not as far
  double middle = 0;
  double high = 0;  // and 5 % are farther
};
std::vector<Progress> progress_at(const Plan& plan, const std::vector<double>& moments_s,
                                  const RunsAsked& asked);

struct Chance {
  double probability = 0;
  double standard_error = 0;
};

// The chance that a run takes longer than this, however small: the number of failures within a time
// has its exact weight, and runs are played for each number that matters. Only where all that stops
// the job is exponential and no replica is lost; otherwise play_runs() counts.
bool can_stratify(const Plan& plan);
// Whether the number of failures decides: none of them alone takes long beside the time that is
// left until the deadline, or all take as long. Else what hardly ever happens, and takes long, may
// happen with any number of failures, and runs have to be counted.
bool is_decided_by_number(const Plan& plan, double slack_s);
Chance chance_later_than(const Plan& plan, double deadline_s, const RunsAsked& asked);

}  // namespace sgdsim::goodput
