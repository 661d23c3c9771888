// The mark of bytes with which editors and spreadsheets of Windows begin UTF-8.
#pragma once

#include <string_view>

namespace sgdsim {

inline constexpr std::string_view byte_order_mark = "\xef\xbb\xbf";

inline std::string_view without_mark(std::string_view text) {
  return text.starts_with(byte_order_mark) ? text.substr(byte_order_mark.size()) : text;
}

}  // namespace sgdsim
