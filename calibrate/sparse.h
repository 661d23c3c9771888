// Sparse gradients on the host: the entries of largest magnitude, as pairs of index and value, and
// fewer bits for what stays dense.
//
// `count` pairs lie in memory as their indices, 4 bytes each, then their values, 4 bytes each. Of
// entries of equal magnitude the one with the lower index is the larger, so that every backend has
// the same answer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace sgdsim::calibrate {

constexpr int64_t pair_B = 8;

struct Pair {
  uint32_t index = 0;
  float value = 0;
  bool operator==(const Pair&) const = default;
};

std::vector<Pair> load_pairs(const std::byte* at, int64_t count);
void store_pairs(std::byte* at, const std::vector<Pair>& pairs);

// The `count` largest of `data`, float32.
void select(std::byte* to, const std::byte* data, int64_t bytes, int64_t count);
// The `count` largest of the sum of both sets of pairs, into the first. An index that is left over,
// because both sets had the same ones, has the value 0 and the largest index.
void merge(std::byte* to, const std::byte* from, int64_t count);

void narrow_to_16(std::byte* to, const std::byte* from, int64_t bytes);
// 4 bytes of scale, the largest magnitude over 127, then a byte for each number, rounded to even.
void narrow_to_8(std::byte* to, const std::byte* from, int64_t bytes);

}  // namespace sgdsim::calibrate
