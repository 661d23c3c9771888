// How far something is that needs a known time alone, and goes at a rate that changes.
//
// Its end is a whole picosecond. With `slack`, a half counts as the next one, also a half from
// which rounding of the rates has taken a little: then the end does not depend on the order in
// which rates were added up. They are rounded by parts of 10^-16, so that less than the slack is
// missing of all that takes some seconds alone.
#pragma once

#include <algorithm>
#include <cmath>
#include <optional>

#include "sim/core/units.h"

namespace sgdsim {

struct FlowProgress {
  double left_ps = 0;  // of its time alone
  double rate = 0;     // 1: as if alone; 0: it does not go on
  Time since;          // of that rate

  double left_at(Time now) const {
    return std::max(0.0, left_ps - rate * static_cast<double>((now - since).ps()));
  }
  void note(Time now) {
    left_ps = left_at(now);
    since = now;
  }
  // False if that is the rate that it has.
  bool change(double other, Time now) {
    if (std::abs(other - 1) <= near_enough) other = 1;
    if (std::abs(other - rate) <= near_enough * other) return false;
    note(now);
    rate = other;
    return true;
  }
  // Until no more than `kept_ps` is left, at a rate above 0.
  Duration until(double slack_ps, double kept_ps = 0) const {
    return Duration::nearest_ps(std::max(0.0, left_ps - kept_ps) / rate + slack_ps);
  }

  // The end at this rate. Nothing for one that hardly flows, which never ends unless it gets more:
  // not before the clock does, or nearly so.
  std::optional<Time> end(Time now, double slack_ps) const {
    constexpr double most_of_clock = 0.999;
    const auto clock_ps = static_cast<double>((Time::last() - now).ps());
    if (rate <= 0 || left_ps / rate > clock_ps * most_of_clock) return std::nullopt;
    return now + until(slack_ps);
  }

  static constexpr double near_enough = 1e-9;
  static constexpr double slack = 1e-3;
};

}  // namespace sgdsim
