// Bytes that go from one worker to another at some moment, whatever else happens.
#pragma once

#include <algorithm>
#include <vector>

#include "sim/core/units.h"

namespace sgdsim {

struct PlainFlow {
  Time start;
  Bytes size;
  int from = 0;
  int to = 0;
};

constexpr std::size_t most_flows = 1 << 25;  // of a file

// Flows that start together keep their order.
inline void sort_by_start(std::vector<PlainFlow>& flows) {
  std::stable_sort(flows.begin(), flows.end(),
                   [](const PlainFlow& a, const PlainFlow& b) { return a.start < b.start; });
}

}  // namespace sgdsim
