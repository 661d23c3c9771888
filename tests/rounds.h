// How many random questions a test asks, and how long a quick thing may take. Sanitizers make
// everything some ten times slower: with them it is a fifth; all are asked without.
#pragma once

#include <algorithm>

namespace sgdsim {

#ifdef SGDSIM_SANITIZED
inline constexpr int round_divisor = 5;
inline constexpr double slowdown = 10;
#else
inline constexpr int round_divisor = 1;
inline constexpr double slowdown = 1;
#endif

constexpr int rounds(int count) { return std::max(1, count / round_divisor); }

}  // namespace sgdsim
