// From what Excel saves to plain UTF-8.
#include "traces/spreadsheet.h"

#include <algorithm>
#include <cstdint>

#include "sim/core/byte_order_mark.h"
#include "sim/core/error.h"

namespace sgdsim {
namespace {

constexpr std::string_view little_end = "\xff\xfe";
constexpr std::string_view big_end = "\xfe\xff";

void append_utf8(uint32_t letter, std::string& text) {
  const auto add = [&](uint32_t byte) { text += static_cast<char>(byte); };
  const auto add_rest = [&](int shift) { add(0x80U | ((letter >> shift) & 0x3FU)); };
  if (letter < 0x80) return add(letter);
  if (letter < 0x800) {
    add(0xC0U | (letter >> 6U));
    return add_rest(0);
  }
  if (letter < 0x10000) {
    add(0xE0U | (letter >> 12U));
  } else {
    add(0xF0U | (letter >> 18U));
    add_rest(12);
  }
  add_rest(6);
  add_rest(0);
}

// `text` without its mark.
std::string from_utf16(std::string_view text, bool is_big, const std::string& file) {
  const auto unit_at = [&](std::size_t place) {
    const auto first = static_cast<uint8_t>(text[place]);
    const auto second = static_cast<uint8_t>(text[place + 1]);
    return static_cast<uint32_t>(is_big ? first << 8 | second : second << 8 | first);
  };
  const auto is_half = [](uint32_t unit, uint32_t from) {
    return unit >= from && unit < from + 0x400;
  };
  std::string answer;
  for (std::size_t place = 0; place < text.size(); place += 2) {
    if (place + 1 == text.size()) throw InputError(file, "UTF-16 with half a character at its end");
    uint32_t letter = unit_at(place);
    const bool has_second = is_half(letter, 0xD800) && place + 3 < text.size();
    if (has_second && is_half(unit_at(place + 2), 0xDC00)) {
      letter = 0x10000 + ((letter - 0xD800) << 10U) + (unit_at(place + 2) - 0xDC00);
      place += 2;
    } else if (letter >= 0xD800 && letter < 0xE000) {
      throw InputError(file, "broken UTF-16: half of a pair stands alone");
    }
    append_utf8(letter, answer);
  }
  return answer;
}

std::string as_utf8(std::string_view text, const std::string& file) {
  if (text.starts_with(little_end)) return from_utf16(text.substr(2), false, file);
  if (text.starts_with(big_end)) return from_utf16(text.substr(2), true, file);
  return std::string(without_mark(text));
}

}  // namespace

bool is_workbook(std::string_view text) {
  return text.starts_with("PK\x03\x04") || text.starts_with("\xd0\xcf\x11\xe0");
}

std::string plain_table(std::string_view text, const std::string& file) {
  if (is_workbook(text))
    throw InputError(file, "an Excel workbook: save it as CSV, and import that");
  std::string plain = as_utf8(text, file);
  const std::size_t end = std::min(plain.find_first_of("\r\n"), plain.size());
  if (plain.starts_with("sep=") && end <= 5) plain.erase(0, end);
  return plain;
}

std::string with_decimal_point(std::string cell) {
  const std::size_t comma = cell.find(',');
  const auto is_digit = [](char letter) { return letter >= '0' && letter <= '9'; };
  if (comma == std::string::npos || comma == 0 || comma + 1 == cell.size()) return cell;
  const bool is_number =
      std::all_of(cell.begin(), cell.begin() + static_cast<std::ptrdiff_t>(comma), is_digit) &&
      is_digit(cell[comma + 1]) && cell.find(',', comma + 1) == std::string::npos;
  if (is_number) cell[comma] = '.';
  return cell;
}

void DecimalCommas::see(const std::string& cell, const std::string& where) {
  const std::string plain = with_decimal_point(cell);
  const std::size_t mark = plain.find('.');
  if (mark == std::string::npos) return;
  std::string& first = plain == cell ? point_ : comma_;
  if (first.empty()) first = cell;
  if (plain == cell) return;
  if (where_.empty()) where_ = where;
  const std::size_t behind = plain.find_first_not_of("0123456789", mark + 1);
  const std::size_t digits = std::min(behind, plain.size()) - mark - 1;
  if (digits != 3 || mark > 3 || plain.front() == '0') is_sure_ = true;
}

void DecimalCommas::check() const {
  if (comma_.empty() || (is_sure_ && point_.empty())) return;
  throw InputError(where_, "is the comma in \"" + comma_ + "\" a decimal one" +
                               (point_.empty() ? "" : ", as the point in \"" + point_ + "\"") +
                               ", or does it separate thousands? Write numbers without separators "
                               "of thousands, with a decimal point");
}

}  // namespace sgdsim
