// Sets that grow by being joined, and who uses a resource: for finding who is alike.
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <vector>

namespace sgdsim {

// Whether all messages over each resource are sent by one worker to one worker.
class Owners {
 public:
  explicit Owners(std::size_t resources) : from_(resources, nobody), to_(resources, nobody) {}
  void add(std::size_t resource, uint32_t from, uint32_t to) {
    note(from_[resource], from);
    note(to_[resource], to);
    are_single_ = are_single_ && from_[resource] != several && to_[resource] != several;
  }
  bool are_single() const { return are_single_; }

 private:
  static constexpr uint32_t nobody = UINT32_MAX;
  static constexpr uint32_t several = UINT32_MAX - 1;
  static void note(uint32_t& owner, uint32_t one) {
    if (owner != one) owner = owner == nobody ? one : several;
  }
  std::vector<uint32_t> from_;
  std::vector<uint32_t> to_;
  bool are_single_ = true;
};

// What takes each other's places, in circles.
class Circles {
 public:
  explicit Circles(std::size_t count) : next_(count) { std::iota(next_.begin(), next_.end(), 0U); }
  void join(std::size_t one, std::size_t other) {
    one = first(one);
    other = first(other);
    next_[std::max(one, other)] = static_cast<uint32_t>(std::min(one, other));
  }
  // The number of each one's circle, and how many are in each.
  std::vector<uint32_t> numbered(std::vector<uint32_t>& sizes) {
    std::vector<uint32_t> numbers(next_.size());
    for (std::size_t i = 0; i < next_.size(); ++i) {
      const std::size_t its = first(i);
      if (its == i) {
        numbers[i] = static_cast<uint32_t>(sizes.size());
        sizes.push_back(0);
      }
      ++sizes[numbers[i] = numbers[its]];
    }
    return numbers;
  }

 private:
  std::size_t first(std::size_t one) {
    while (next_[one] != one) one = next_[one] = next_[next_[one]];
    return one;
  }
  std::vector<uint32_t> next_;  // towards the first of its circle
};

}  // namespace sgdsim
