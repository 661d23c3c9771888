// Exchanges of which only the time is known, several of them in flight.
//
// They enter in order, each as soon as it is ready and a channel is free. What an exchange takes
// alone has two parts: time of its own, as start-ups in flight and folds, which costs the network
// nothing, and its bytes, which share the network evenly with the bytes of all others that are
// under way. An exchange alone has all of it.
#pragma once

#include <algorithm>
#include <vector>

#include "sim/core/units.h"

namespace sgdsim {

class Channels {
 public:
  explicit Channels(int count) : count_(static_cast<std::size_t>(count)) {}

  // Enters the next exchange, and returns when it starts. `own_time` is at most `alone`.
  Duration enter(Duration ready, Duration alone, Duration own_time);
  // When all that has entered ends, were nothing else to come.
  Duration silent() const;
  // When each exchange ends, once all have entered.
  std::vector<Duration> ends();

 private:
  struct Flight {
    std::size_t index = 0;
    Duration flows;  // from then on
    double left_ps = 0;
  };
  double sharing() const;
  Duration change_of(const Flight& flight, double sharing) const;
  Duration next_change() const;
  void play_to(Duration when);
  void play_out();

  std::size_t count_;
  std::vector<Flight> flights_;
  std::vector<Duration> ends_;
  Duration now_;
};

// Numbers for exchanges in the order of their starts, so that none overlap that have the same one.
class ChannelNumbers {
 public:
  int next(Duration start, Duration end) {
    auto channel =
        std::find_if(free_.begin(), free_.end(), [&](Duration free) { return free <= start; });
    if (channel == free_.end()) channel = free_.insert(channel, Duration());
    *channel = end;
    return static_cast<int>(channel - free_.begin());
  }

 private:
  std::vector<Duration> free_;  // when each channel is
};

}  // namespace sgdsim
