// A clock per worker, or one that stands for all. `Time` is the clock of one worker.
#pragma once

#include <algorithm>
#include <vector>

#include "sim/core/units.h"

namespace sgdsim {

using Clocks = std::vector<Time>;

inline Time at(const Clocks& clocks, std::size_t worker) {
  return clocks[clocks.size() == 1 ? 0 : worker];
}
inline Time& at(Clocks& clocks, std::size_t worker) {
  return clocks[clocks.size() == 1 ? 0 : worker];
}

// When an exchange starts and ends on each worker.
struct ExchangeTimes {
  Clocks starts;
  Clocks ends;
};

// None yet stands for the start of the simulation.
inline void join(Clocks& clocks, const Clocks& others) {
  if (others.empty()) return;
  if (clocks.empty()) {
    clocks = others;
    return;
  }
  if (clocks.size() < others.size()) clocks.resize(others.size(), clocks.front());
  for (std::size_t i = 0; i < clocks.size(); ++i) clocks[i] = std::max(clocks[i], at(others, i));
}
inline Clocks latest(Clocks a, const Clocks& b) {
  join(a, b);
  return a;
}

inline Time first_of(const Clocks& clocks) {
  return clocks.empty() ? Time() : *std::min_element(clocks.begin(), clocks.end());
}
inline Time last_of(const Clocks& clocks) {
  return clocks.empty() ? Time() : *std::max_element(clocks.begin(), clocks.end());
}

inline Time at(const Time& clock, std::size_t) { return clock; }
inline Time& at(Time& clock, std::size_t) { return clock; }
inline void join(Time& clock, Time other) { clock = std::max(clock, other); }
inline Time latest(Time a, Time b) { return std::max(a, b); }
inline Time first_of(Time clock) { return clock; }
inline Time last_of(Time clock) { return clock; }

}  // namespace sgdsim
