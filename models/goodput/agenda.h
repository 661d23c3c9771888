// What is known to happen later, the earliest first: a heap, which is quicker than a tree where
// thousands of nodes are slow or being repaired at once.
#pragma once

#include <algorithm>
#include <cstdint>
#include <tuple>
#include <vector>

#include "models/goodput/player.h"

namespace sgdsim::goodput {

inline constexpr LongPs forever = static_cast<LongPs>(1) << 122;

struct Timed {
  LongPs at = 0;
  std::size_t cause = 0;
  int64_t number = 0;  // nodes that are repaired, replicas that come back, or the last good save
  // For a heap with the first one on top. Of two at once the order is that of their numbers: what
  // happens must not depend on how the heap came about.
  bool operator<(const Timed& other) const {
    return at != other.at ? at > other.at
                          : std::tie(number, cause) > std::tie(other.number, other.cause);
  }
};

class Agenda {
 public:
  bool empty() const { return all_.empty(); }
  std::size_t size() const { return all_.size(); }
  LongPs first() const { return all_.empty() ? forever : all_.front().at; }
  void insert(const Timed& one) {
    all_.push_back(one);
    std::push_heap(all_.begin(), all_.end());
  }
  Timed take() {
    std::pop_heap(all_.begin(), all_.end());
    const Timed one = all_.back();
    all_.pop_back();
    return one;
  }
  template <class Is>
  void erase_if(const Is& is) {
    if (std::erase_if(all_, is) > 0) std::make_heap(all_.begin(), all_.end());
  }

 private:
  std::vector<Timed> all_;
};

}  // namespace sgdsim::goodput
