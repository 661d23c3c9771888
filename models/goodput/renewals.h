// How many failures a unit has in a window where gaps between them are Weibull: a renewal process.
// Where gaps cluster (a shape below 1) counts vary far more than those of chance, which keep no
// memory.
//
// The unit has run, failed and come back for long when the window begins. The tail is that of the
// sum of gaps by Lugannani and Rice's tilting, with the transform of the law by quadrature: chances
// below 1e-3 are up to a third too small where two to four failures are asked for, 5 to 20 % where
// some more are, and closer for many. Where so many failures are no surprise it says 1.
#pragma once

#include <cstdint>
#include <vector>

namespace sgdsim::goodput {

class RenewalCounts {
 public:
  explicit RenewalCounts(double shape);  // from 0.1 to 1
  // Chance of at least so many where `mean` are expected.
  double chance_of_at_least(int64_t events, double mean) const;

 private:
  // Of e^(-tilt S), S the time until so many: its logarithm, and the moments of S under it.
  struct Tilted {
    double log = 0;
    double mean = 0;
    double variance = 0;
  };
  Tilted tilted(int64_t events, double tilt) const;

  struct Gap {
    double length = 0;  // in means
    double part = 0;
  };
  std::vector<Gap> gaps_;
};

}  // namespace sgdsim::goodput
