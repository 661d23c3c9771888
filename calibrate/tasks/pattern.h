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
#include <vector>

#include "calibrate/element.h"
#include "calibrate/plan/collectives.h"

namespace sgdsim::calibrate {

inline constexpr int most_ranks = 64;
inline constexpr int64_t pattern_period = 9973;

// 0 to 4.
float pattern(int rank, int64_t element);

// Numbers that repeat with the pattern's period, as they lie in memory.
class Repeating {
 public:
  // The value of each of the first elements; `count` is how many are needed at all.
  Repeating(Type type, int64_t count, const std::function<float(int64_t element)>& value);
  // What stands from `at_B` of the message to `at_B + bytes`.
  void write(std::byte* to, int64_t at_B, int64_t bytes) const;
  // The first byte of these that is something else, counted from the start of the message, or -1.
  int64_t first_difference(const std::byte* in, int64_t at_B, int64_t bytes) const;

 private:
  std::vector<std::byte> period_;
};

// Of a rank's data: the message, and for all-to-all what arrives.
int64_t room_B(const Collective& collective);

// What a rank's data is before the operation.
void fill(const Collective& collective, Type type, int rank, std::vector<std::byte>& data);

// The first element that is wrong after it, or -1.
int64_t first_wrong(const Collective& collective, Type type, int rank,
                    const std::vector<std::byte>& data);

}  // namespace sgdsim::calibrate
