// The first gap is that of a unit somewhere in its life: its density is what a new unit has of
// lasting longer, over the mean, so that its transform is (1 - L) / (tilt mean) of the law's L.
#include "models/goodput/renewals.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <numbers>

namespace sgdsim::goodput {

namespace {

// Where a root of the tilt is sought, by its logarithm. Below, differences of nearly equal numbers
// lose their digits; there so many failures are no surprise.
constexpr double least_tilt_log = -9;
constexpr double most_tilt_log = 40;

// e^(x^2 / 2) times the chance of a normal draw beyond x.
double scaled_normal_tail(double x) {
  constexpr double by_series = 25;
  if (x > by_series) return 1 / (x * std::sqrt(2 * std::numbers::pi));
  return std::exp(x * x / 2) * std::erfc(x / std::numbers::sqrt2) / 2;
}

}  // namespace

// In the logarithm of the length the density falls off so fast at both ends that equal steps are
// exact to rounding: from e^-40 of the failures to e^-40.
RenewalCounts::RenewalCounts(double shape) {
  assert(shape >= 0.1 && shape <= 1);
  constexpr double end = 40;
  constexpr double step = 0.1;
  const double mean = std::tgamma(1 + 1 / shape);
  for (double log = -end / shape; log < std::log(end) / shape; log += step) {
    const double power = std::exp(shape * log);
    gaps_.push_back({std::exp(log) / mean, step * shape * power * std::exp(-power)});
  }
}

RenewalCounts::Tilted RenewalCounts::tilted(int64_t events, double tilt) const {
  double all = 0;
  double lengths = 0;
  double squares = 0;
  for (const Gap& gap : gaps_) {
    const double part = gap.part * std::exp(-tilt * gap.length);
    all += part;
    lengths += part * gap.length;
    squares += part * gap.length * gap.length;
  }
  const double mean = lengths / all;
  const double variance = squares / all - mean * mean;
  const double longer = 1 - all;
  const double of_first = lengths / longer;
  const auto others = static_cast<double>(events - 1);
  return {std::log(longer / tilt) + others * std::log(all), 1 / tilt - of_first + others * mean,
          1 / (tilt * tilt) - squares / longer - of_first * of_first + others * variance};
}

double RenewalCounts::chance_of_at_least(int64_t events, double mean) const {
  if (events <= 0) return 1;
  double low = least_tilt_log;
  double high = most_tilt_log;
  if (tilted(events, std::exp(low)).mean <= mean) return 1;
  // At the root the chance is stationary: a small error of the tilt does not count.
  while (high - low > 1e-5) {
    const double middle = (low + high) / 2;
    (tilted(events, std::exp(middle)).mean > mean ? low : high) = middle;
  }
  const double tilt = std::exp((low + high) / 2);
  const Tilted at = tilted(events, tilt);
  const double deviations = tilt * std::sqrt(std::max(0., at.variance));
  return std::min(1., std::exp(at.log + tilt * mean) * scaled_normal_tail(deviations));
}

}  // namespace sgdsim::goodput
