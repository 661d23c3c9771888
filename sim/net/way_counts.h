// How many of some messages each of the ways carries that workers share, in both directions.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "sim/net/network.h"

namespace sgdsim {

class WayCounts {
 public:
  WayCounts(const SharedWays& shared, int workers)
      : shared_(shared), out_(shared.count(workers)), in_(out_.size()) {}

  void add(int from, int to) {
    if (!shared_.carries(from, to)) return;
    most_ = std::max({most_, ++out_[shared_.way_out(from, to)], ++in_[shared_.way_in(to)]});
  }
  int64_t most() const { return most_; }  // on one way

 private:
  const SharedWays& shared_;
  std::vector<int64_t> out_;
  std::vector<int64_t> in_;
  int64_t most_ = 0;
};

}  // namespace sgdsim
