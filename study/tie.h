// When two results are equal for every purpose.
#pragma once

#include <algorithm>
#include <cmath>

namespace sgdsim {

// A millionth is more than the rounding to whole picoseconds and bytes makes, and less than any
// measurement could tell apart.
inline bool is_tie(double a, double b) {
  return std::abs(a - b) <= 1e-6 * std::max(std::abs(a), std::abs(b));
}

}  // namespace sgdsim
