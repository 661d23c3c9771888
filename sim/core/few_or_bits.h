// A set of numbers below a limit: in order as long as it has few, then a bit for each.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace sgdsim {

class FewOrBits {
 public:
  FewOrBits() = default;
  explicit FewOrBits(std::size_t limit) : limit_(limit) {}
  explicit FewOrBits(std::vector<bool> bits)
      : limit_(bits.size()), are_bits_(true), bits_(std::move(bits)) {}

  std::size_t limit() const { return limit_; }
  bool contains(std::size_t number) const {
    if (are_bits_) return bits_[number];
    return std::binary_search(few_.begin(), few_.end(), static_cast<uint32_t>(number));
  }
  void insert(std::size_t number) {
    if (are_bits_) {
      bits_[number] = true;
      return;
    }
    const auto one = static_cast<uint32_t>(number);
    const auto place = std::lower_bound(few_.begin(), few_.end(), one);
    if (place != few_.end() && *place == one) return;
    few_.insert(place, one);
    if (few_.size() > most_few) become_bits();
  }
  bool is_few() const { return !are_bits_; }
  std::span<const uint32_t> few() const { return few_; }  // empty where they are bits

 private:
  static constexpr std::size_t most_few = 64;
  void become_bits() {
    are_bits_ = true;
    bits_.resize(limit_);
    for (const uint32_t one : few_) bits_[one] = true;
    few_ = {};
  }

  std::size_t limit_ = 0;
  bool are_bits_ = false;
  std::vector<uint32_t> few_;
  std::vector<bool> bits_;
};

}  // namespace sgdsim
