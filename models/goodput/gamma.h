// The incomplete gamma function, and what follows from it: chances of counts, and times until the
// next failure of a Weibull law.
#pragma once

namespace sgdsim::goodput {

// The parts of the gamma function of `a` below and above x, without losing small ones.
double gamma_below(double a, double x);
double gamma_above(double a, double x);
// That a unit which has run, failed and been replaced for long does not fail before so many scales
// of its law; and when that has a chance, which is between 0 and 1.
double chance_to_run(double shape, double scales);
double scales_run(double shape, double chance);

}  // namespace sgdsim::goodput
