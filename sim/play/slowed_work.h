// Work that takes `slowdown` times as long at some times.
#pragma once

#include <algorithm>

#include "sim/core/units.h"

namespace sgdsim {

class SlowedWork {
 public:
  SlowedWork(Time start, Duration work, double slowdown)
      : since_(start), left_(work), slowdown_(slowdown) {}

  // From then on, which is no earlier than what was said last.
  void turn(Time now, bool is_slow) {
    const Duration passed = now - since_;
    left_ = std::max(Duration(), left_ - (is_slow_ ? nearest(ps(passed) / slowdown_) : passed));
    since_ = now;
    is_slow_ = is_slow;
  }
  Time end() const {  // if it does not turn any more
    return since_ + (is_slow_ ? nearest(ps(left_) * slowdown_) : left_);
  }
  bool is_slow() const { return is_slow_; }

 private:
  static double ps(Duration length) { return static_cast<double>(length.ps()); }
  static Duration nearest(double length_ps) { return Duration::nearest_ps(length_ps); }

  Time since_;
  Duration left_;  // at full speed
  double slowdown_;
  bool is_slow_ = false;
};

}  // namespace sgdsim
