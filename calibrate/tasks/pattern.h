// Data whose result is known exactly: small whole numbers, of which even sums in 16 bits are exact.
//
// Every element is a scrambled whole number from 0 to 4, so that ranks and blocks differ, a shift
// of the data is seen, and a sum over 64 ranks stays at 256 or below, up to which bfloat16 has
// every whole number. The numbers repeat after a prime number of elements, so that a gigabyte is
// filled and compared as fast as memory goes, and a block at a wrong place is still seen. What an
// operation must write is filled with NaN before it.
#pragma once

#include <cstddef>
#include <functional>

#include "calibrate/element.h"
#include "calibrate/plan/collectives.h"
#include "calibrate/stretch.h"

namespace sgdsim::calibrate {

inline constexpr int most_ranks = 64;
inline constexpr int64_t pattern_period = 9973;

// 0 to 4.
float pattern(int rank, int64_t element);

// Numbers that repeat with the pattern's period: the value of each of the first elements, of
// `count` that are needed at all. As they stand from `at_B` on, which is `from_B` of the numbers.
Stretch repeating(Type type, int64_t count, const std::function<float(int64_t element)>& value,
                  int64_t at_B, int64_t from_B, int64_t bytes);

// Numbers of random sign and mantissa, for measuring: how much power a GPU draws, and so its clock
// rate, depends on the bits. They are small, so that sums of sums of many ranks stay finite.
Stretch noise(Type type, int rank, int64_t bytes);

// Of a rank's data: the message, and for all-to-all what arrives.
int64_t room_B(const Collective& collective);

// What a rank's data is before the operation, and what the operation promises of it.
Stretches content_before(const Collective& collective, Type type, int rank);
Stretches content_after(const Collective& collective, Type type, int rank);

}  // namespace sgdsim::calibrate
