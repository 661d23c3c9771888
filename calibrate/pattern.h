// Data whose result is known exactly: small whole numbers, of which even sums in 16 bits are exact.
//
// Every element is a scrambled whole number from 0 to 4, so that ranks and blocks differ, a shift
// of the data is seen, and a sum over 64 ranks stays at 256 or below, up to which bfloat16 has
// every whole number. What an operation must write is filled with NaN before it.
#pragma once

#include <cstddef>
#include <vector>

#include "calibrate/collectives.h"
#include "calibrate/element.h"

namespace sgdsim::calibrate {

inline constexpr int most_ranks = 64;

// 0 to 4.
float pattern(int rank, int64_t element);

// What a rank's data is before the operation.
void fill(const Collective& collective, Type type, int rank, std::vector<std::byte>& data);

// The first element that is wrong after it, or -1.
int64_t first_wrong(const Collective& collective, Type type, int rank,
                    const std::vector<std::byte>& data);

}  // namespace sgdsim::calibrate
