// The value below which a part of a sorted sample lies: one of the sample (nearest rank). The
// median.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

namespace sgdsim {

template <class T>
T nearest_rank(const std::vector<T>& sorted, double part) {
  const double rank = std::ceil(part * static_cast<double>(sorted.size()));
  const auto index = static_cast<std::size_t>(std::max(1., rank)) - 1;
  return sorted[std::min(index, sorted.size() - 1)];
}

// Of at least one value.
inline double median_of(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

}  // namespace sgdsim
