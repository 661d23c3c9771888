// Partial sorts of indices; see sparse.h for how ties are broken.
#include "calibrate/sparse.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace sgdsim::calibrate {
namespace {

constexpr Pair nothing{0xffffffffU, 0};

float value_at(Type type, const std::byte* data, int64_t i) {
  return load(type, data + i * size_of(type));
}

bool is_larger(const Pair& a, const Pair& b) {
  const float size_a = std::abs(a.value);
  const float size_b = std::abs(b.value);
  return size_a != size_b ? size_a > size_b : a.index < b.index;
}

bool is_before(const Pair& a, const Pair& b) { return a.index < b.index; }

// Keeps the largest, in the order of their indices; fills up with nothing.
void keep_largest(std::vector<Pair>& pairs, int64_t count) {
  const auto keep = static_cast<std::size_t>(count);
  if (pairs.size() > keep)
    std::nth_element(pairs.begin(), pairs.begin() + count, pairs.end(), is_larger);
  pairs.resize(keep, nothing);
  std::sort(pairs.begin(), pairs.end(), is_before);
}

}  // namespace

std::vector<Pair> load_pairs(Type type, const std::byte* at, int64_t count) {
  std::vector<Pair> pairs(static_cast<std::size_t>(count));
  for (int64_t i = 0; i < count; ++i) {
    Pair& pair = pairs[static_cast<std::size_t>(i)];
    std::memcpy(&pair.index, at + 4 * i, 4);
    pair.value = value_at(type, at + 4 * count, i);
  }
  return pairs;
}

void store_pairs(Type type, std::byte* at, const std::vector<Pair>& pairs) {
  const auto count = static_cast<int64_t>(pairs.size());
  for (int64_t i = 0; i < count; ++i) {
    const Pair& pair = pairs[static_cast<std::size_t>(i)];
    std::memcpy(at + 4 * i, &pair.index, 4);
    store(type, at + 4 * count + i * size_of(type), pair.value);
  }
}

void select(Type type, std::byte* to, const std::byte* data, int64_t bytes, int64_t count) {
  std::vector<Pair> pairs(static_cast<std::size_t>(bytes / size_of(type)));
  for (std::size_t i = 0; i < pairs.size(); ++i)
    pairs[i] = {static_cast<uint32_t>(i), value_at(type, data, static_cast<int64_t>(i))};
  keep_largest(pairs, count);
  store_pairs(type, to, pairs);
}

void merge(Type type, std::byte* to, const std::byte* from, int64_t count) {
  std::vector<Pair> both = load_pairs(type, to, count);
  const std::vector<Pair> other = load_pairs(type, from, count);
  both.insert(both.end(), other.begin(), other.end());
  std::sort(both.begin(), both.end(), is_before);
  std::vector<Pair> sum;
  for (const Pair& pair : both) {
    if (pair.index == nothing.index) continue;
    if (!sum.empty() && sum.back().index == pair.index)
      sum.back().value = rounded(type, sum.back().value + pair.value);
    else
      sum.push_back(pair);
  }
  keep_largest(sum, count);
  store_pairs(type, to, sum);
}

void narrow_to_16(std::byte* to, const std::byte* from, int64_t bytes) {
  for (int64_t i = 0; i < bytes / 4; ++i)
    store(Type::float16, to + 2 * i, value_at(Type::float32, from, i));
}

void narrow_to_8(Type type, std::byte* to, const std::byte* from, int64_t bytes) {
  const int64_t count = bytes / size_of(type);
  float largest = 0;
  for (int64_t i = 0; i < count; ++i)
    largest = std::max(largest, std::abs(value_at(type, from, i)));
  const float scale = largest / 127;
  store(Type::float32, to, scale);
  for (int64_t i = 0; i < count; ++i) {
    const float part = scale > 0 ? value_at(type, from, i) / scale : 0;
    to[4 + i] = static_cast<std::byte>(static_cast<int8_t>(std::nearbyint(part)));
  }
}

}  // namespace sgdsim::calibrate
