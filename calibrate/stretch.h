// What stands in a part of a rank's data: numbers that repeat, as they lie in memory.
//
// So a GPU fills and compares gigabytes itself: what travels to it is one period, and back one
// place.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace sgdsim::calibrate {

struct Stretch {
  int64_t at_B = 0;  // where in the data it begins
  int64_t bytes = 0;
  std::vector<std::byte> period = {};  // empty: 0xff, which is NaN in every type
  int64_t from_B = 0;                  // where in the period it begins
};
using Stretches = std::vector<Stretch>;

void write(const Stretch& stretch, std::byte* data);
// The first byte that is something else, counted from the start of the data, or -1.
int64_t first_difference(const Stretch& stretch, const std::byte* data);

}  // namespace sgdsim::calibrate
