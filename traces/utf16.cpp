// Two bytes a character, in either order, and four for what lies beyond the first plane.
#include "traces/utf16.h"

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

}  // namespace

bool is_utf16(std::string_view text) {
  return text.starts_with(little_end) || text.starts_with(big_end);
}

std::string as_utf8(std::string text, const std::string& file) {
  if (is_utf16(text))
    return from_utf16(std::string_view(text).substr(2), text.starts_with(big_end), file);
  text.erase(0, text.size() - without_mark(text).size());
  return text;
}

}  // namespace sgdsim
