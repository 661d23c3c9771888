// Which packets of a message have come.
#pragma once

#include <cstdint>
#include <vector>

namespace sgdsim {

class Received {
 public:
  explicit Received(uint32_t packets) : has_(packets) {}
  // False if it was there already.
  bool add(uint32_t packet) {
    if (has_[packet]) return false;
    has_[packet] = true;
    ++count_;
    return true;
  }
  bool has(uint32_t packet) const { return has_[packet]; }
  bool has_all() const { return count_ == has_.size(); }
  uint32_t count() const { return count_; }

 private:
  std::vector<bool> has_;
  uint32_t count_ = 0;
};

}  // namespace sgdsim
