// After how many of its members a list repeats.
#pragma once

#include <cstddef>
#include <vector>

namespace sgdsim {

// The least number after which all repeats; at most half of them, or 0: none. By the borders of
// prefixes (Knuth, Morris, Pratt).
template <class T>
std::size_t period_of(const std::vector<T>& list) {
  std::vector<std::size_t> border(list.size());
  for (std::size_t i = 1; i < list.size(); ++i) {
    std::size_t length = border[i - 1];
    while (length > 0 && list[i] != list[length]) length = border[length - 1];
    border[i] = list[i] == list[length] ? length + 1 : 0;
  }
  if (list.empty()) return 0;
  const std::size_t period = list.size() - border.back();
  return 2 * period <= list.size() ? period : 0;
}

template <class T>
bool repeats_after(const std::vector<T>& list, std::size_t period) {
  if (2 * period > list.size()) return false;
  for (std::size_t i = period; i < list.size(); ++i)
    if (list[i] != list[i - period]) return false;
  return true;
}

}  // namespace sgdsim
