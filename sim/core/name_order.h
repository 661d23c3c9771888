// Names in the order in which people count: rank4 before rank12.
#pragma once

#include <algorithm>
#include <cctype>
#include <string_view>
#include <utility>

namespace sgdsim {

// Digits compare as the numbers that they are, all else letter by letter; of equal ones, as with
// zeros before a number, the letters decide.
inline bool counts_before(std::string_view one, std::string_view other) {
  const auto is_digit = [](char letter) {
    return std::isdigit(static_cast<unsigned char>(letter)) != 0;
  };
  const auto digits_from = [&](std::string_view text, std::size_t at) {
    std::size_t end = at;
    while (end < text.size() && is_digit(text[end])) ++end;
    const std::size_t zeros = std::min(text.find_first_not_of('0', at), end);
    return std::pair(text.substr(zeros, end - zeros), end);
  };
  std::size_t a = 0;
  std::size_t b = 0;
  while (a < one.size() && b < other.size()) {
    if (!is_digit(one[a]) || !is_digit(other[b])) {
      if (one[a] != other[b]) return one[a] < other[b];
      ++a;
      ++b;
      continue;
    }
    const auto [first, first_end] = digits_from(one, a);
    const auto [second, second_end] = digits_from(other, b);
    if (first.size() != second.size()) return first.size() < second.size();
    if (first != second) return first < second;
    a = first_end;
    b = second_end;
  }
  if (a < one.size() || b < other.size()) return a == one.size();
  return one < other;
}

}  // namespace sgdsim
