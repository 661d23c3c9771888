// How many random questions a test asks. Sanitizers make every one some ten times slower: with them
// it is a fifth; all are asked without.
#pragma once

#include <algorithm>

namespace sgdsim {

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SGDSIM_FEWER_ROUNDS
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || defined(SGDSIM_FEWER_ROUNDS)
inline constexpr int round_divisor = 5;
#else
inline constexpr int round_divisor = 1;
#endif

constexpr int rounds(int count) { return std::max(1, count / round_divisor); }

}  // namespace sgdsim
