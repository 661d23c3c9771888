// By its series where x is small, and by its continued fraction (Abramowitz and Stegun 6.5.29,
// 6.5.31); times by Newton's steps between bounds.
#include "models/goodput/gamma.h"

#include <algorithm>
#include <cmath>

namespace sgdsim::goodput {
namespace {

double gamma_by_series(double a, double x) {
  double term = 1 / a;
  double sum = term;
  for (double n = a + 1; term > sum * 1e-17; ++n) sum += term *= x / n;
  return sum * std::exp(a * std::log(x) - x - std::lgamma(a));
}
double gamma_above_by_fraction(double a, double x) {
  constexpr double tiny = 1e-300;
  double b = x + 1 - a;
  double c = 1 / tiny;
  double d = 1 / b;
  double value = d;
  for (double n = 1; n < 100'000; ++n) {
    const double factor = -n * (n - a);
    b += 2;
    d = factor * d + b;
    c = b + factor / c;
    if (std::abs(d) < tiny) d = tiny;
    if (std::abs(c) < tiny) c = tiny;
    d = 1 / d;
    value *= d * c;
    if (std::abs(d * c - 1) < 1e-16) break;
  }
  return value * std::exp(a * std::log(x) - x - std::lgamma(a));
}

}  // namespace

double gamma_below(double a, double x) {
  if (x <= 0) return 0;
  return x < a + 1 ? gamma_by_series(a, x) : 1 - gamma_above_by_fraction(a, x);
}

double gamma_above(double a, double x) {
  if (x <= 0) return 1;
  return x < a + 1 ? 1 - gamma_by_series(a, x) : gamma_above_by_fraction(a, x);
}

double chance_to_run(double shape, double scales) {
  // Of a large shape the power may be too small for a number.
  const double x = std::pow(scales, shape);
  return x < 1e-17 ? 1 - scales / std::tgamma(1 + 1 / shape) : gamma_above(1 / shape, x);
}

// The chance falls by what a new unit has of running so long, over the mean of the law.
double scales_run(double shape, double chance) {
  const double mean = std::tgamma(1 + 1 / shape);
  double low = (1 - chance) * mean;
  double high = 2 * std::max(1., low);
  while (chance_to_run(shape, high) > chance) high *= 2;
  double at = low;
  for (int step = 0; step < 200 && high - low > 1e-13 * high; ++step) {
    const double too_much = chance_to_run(shape, at) - chance;
    (too_much > 0 ? low : high) = at;
    const double before = at;
    const double next = at + too_much * mean * std::exp(std::pow(at, shape));
    at = next > low && next < high ? next : low + (high - low) / 2;
    if (std::abs(at - before) <= 1e-14 * at) break;
  }
  return at;
}

}  // namespace sgdsim::goodput
