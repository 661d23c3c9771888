// Sparse gradients on the host: the entries of largest magnitude, as pairs of index and value, and
// fewer bits for what stays dense.
//
// `count` pairs lie in memory as their indices, 4 bytes each, then their values. Values of 16 bits
// are added in float and rounded once. Of entries of equal magnitude the one with the lower index
// is the larger, so that every backend has the same answer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "calibrate/element.h"

namespace sgdsim::calibrate {

constexpr int64_t pair_B(Type type) { return 4 + size_of(type); }

struct Pair {
  uint32_t index = 0;
  float value = 0;
  bool operator==(const Pair&) const = default;
};

std::vector<Pair> load_pairs(Type type, const std::byte* at, int64_t count);
void store_pairs(Type type, std::byte* at, const std::vector<Pair>& pairs);

// The `count` largest of `data`.
void select(Type type, std::byte* to, const std::byte* data, int64_t bytes, int64_t count);
// The `count` largest of the sum of both sets of pairs, into the first. An index that is left over,
// because both sets had the same ones, has the value 0 and the largest index.
void merge(Type type, std::byte* to, const std::byte* from, int64_t count);

// float32 to float16.
void narrow_to_16(std::byte* to, const std::byte* from, int64_t bytes);
// 4 bytes of scale, the largest magnitude over 127, then a byte for each number, rounded to even.
void narrow_to_8(Type type, std::byte* to, const std::byte* from, int64_t bytes);

}  // namespace sgdsim::calibrate
