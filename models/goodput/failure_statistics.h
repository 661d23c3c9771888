// What counted failures say: rates with their intervals, whether failures keep no memory, which
// units fail too often to be like the others.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "sim/work/failure_record.h"

namespace sgdsim::goodput {

// Chance of at least so many events where `mean` are expected.
double chance_of_at_least(int64_t events, double mean);
// Chance that chi-square with so many degrees of freedom is larger.
double chi_square_above(double freedom, double value);

struct Interval {
  double low = 0;
  double high = 0;
};
// Of the mean of a count: exact, 95 %.
Interval interval_of_count(int64_t events);

// Failures of a Weibull law: the hazard of a unit of age t grows as t^(shape - 1).
struct WeibullFit {
  double shape = 1;
  Interval interval;         // 95 %, by likelihood; 0: as low or high as can be told
  double scale_s = 0;        // of one unit
  double exponential_p = 1;  // chance of such a shape where failures keep no memory
};
inline constexpr int64_t least_for_shape = 5;  // failures
// Of the spells that this cause ended, the others counting as far as they came; -1: any cause.
// Nothing if there are too few failures, or all at the same age.
std::optional<WeibullFit> weibull_of(std::span<const FailureSpell> spells, int32_t cause);

// Units that fail so often that not one such would be expected in a hundred logs like this, of
// units that are alike and whose failures cluster as those of the others do.
struct Lemon {
  std::size_t unit = 0;  // among the record's
  double expected = 0;   // failures, if it were as the others
};
struct Lemons {
  std::vector<Lemon> worst;     // the worst first
  double rate_of_others_s = 0;  // failures of a unit and second without them
  double share_of_units = 0;
  double share_of_failures = 0;
};
Lemons lemons_of(const FailureRecord& record);

// Whether failures come in bursts: the variance over the mean of their counts in equal parts of the
// log, and the chance of so much if they came at random.
struct Bursts {
  int64_t parts = 0;  // 0: too few failures to tell
  double ratio = 1;
  double p = 1;
};
Bursts bursts_of(const FailureRecord& record);

}  // namespace sgdsim::goodput
