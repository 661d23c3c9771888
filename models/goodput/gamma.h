// The incomplete gamma function, for counts and for times until the next failure.
#pragma once

namespace sgdsim::goodput {

// The parts of the gamma function of `a` below and above x, without losing small ones.
double gamma_below(double a, double x);
double gamma_above(double a, double x);
// Where that part is `above`, which is between 0 and 1.
double gamma_above_at(double a, double above);

}  // namespace sgdsim::goodput
