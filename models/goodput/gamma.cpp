// By its series where x is small, and by its continued fraction (Abramowitz and Stegun 6.5.29,
// 6.5.31); the inverse by Newton's steps between bounds.
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

double gamma_above_at(double a, double above) {
  // What is below x is at most x^a / gamma(a + 1).
  double low = std::exp((std::log1p(-above) + std::lgamma(a + 1)) / a);
  double high = a + 1;
  while (gamma_above(a, high) > above) high *= 2;
  low = std::min(low, high);
  double x = low;
  for (int step = 0; step < 200 && high - low > 1e-13 * high; ++step) {
    const double too_much = gamma_above(a, x) - above;  // falls with x
    (too_much > 0 ? low : high) = x;
    const double slope = std::exp((a - 1) * std::log(x) - x - std::lgamma(a));
    const double next = x + too_much / slope;
    const double before = x;
    x = next > low && next < high ? next : low + (high - low) / 2;
    if (std::abs(x - before) <= 1e-14 * x) break;
  }
  return x;
}

}  // namespace sgdsim::goodput
