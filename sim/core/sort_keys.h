// Whole numbers in order: digit by digit where they are many, which takes a few steps for each.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

namespace sgdsim {

// `spare`: room that is kept from call to call. No key has more than so many bits.
inline void sort_keys(std::vector<uint64_t>& keys, std::vector<uint64_t>& spare, unsigned bits) {
  constexpr std::size_t few = 512;
  constexpr unsigned digit_bits = 8;
  constexpr std::size_t digits = std::size_t{1} << digit_bits;
  if (keys.size() < few) return std::sort(keys.begin(), keys.end());
  spare.resize(keys.size());
  for (unsigned shift = 0; shift < bits; shift += digit_bits) {
    const auto digit = [shift](uint64_t key) {
      return static_cast<std::size_t>(key >> shift) & (digits - 1);
    };
    std::array<std::size_t, digits + 1> firsts{};
    for (const uint64_t key : keys) ++firsts[digit(key) + 1];
    for (std::size_t i = 1; i < firsts.size(); ++i) firsts[i] += firsts[i - 1];
    for (const uint64_t key : keys) spare[firsts[digit(key)]++] = key;
    keys.swap(spare);
  }
}

}  // namespace sgdsim
