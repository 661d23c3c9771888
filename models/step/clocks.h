// A clock per worker, or one that stands for all.
#pragma once

#include <algorithm>
#include <vector>

#include "sim/core/units.h"

namespace sgdsim {

using Clocks = std::vector<Time>;

inline Time at(const Clocks& clocks, std::size_t worker) {
  return clocks[clocks.size() == 1 ? 0 : worker];
}

inline Clocks latest(const Clocks& a, const Clocks& b) {
  Clocks late(std::max(a.size(), b.size()));
  for (std::size_t i = 0; i < late.size(); ++i) late[i] = std::max(at(a, i), at(b, i));
  return late;
}

inline Time first_of(const Clocks& clocks) {
  return *std::min_element(clocks.begin(), clocks.end());
}

inline Time last_of(const Clocks& clocks) {
  return *std::max_element(clocks.begin(), clocks.end());
}

}  // namespace sgdsim
