// Widths of Adobe's font metrics (Helvetica.afm), in thousandths of the size.
#include "app/plot/helvetica.h"

#include <array>
#include <vector>

namespace sgdsim {
namespace {

constexpr int first_letter = 0x20;
constexpr std::array<short, 95> widths = {
    278, 278, 355, 556, 556, 889, 667, 191, 333, 333, 389, 584, 278, 333,  278, 278, 556, 556, 556,
    556, 556, 556, 556, 556, 556, 556, 278, 278, 584, 584, 584, 556, 1015, 667, 667, 722, 722, 667,
    611, 778, 722, 278, 500, 667, 556, 833, 722, 778, 667, 778, 722, 667,  611, 722, 667, 944, 667,
    667, 611, 278, 278, 278, 469, 556, 333, 556, 556, 500, 556, 556, 278,  556, 556, 222, 222, 500,
    222, 833, 556, 556, 556, 556, 333, 500, 278, 556, 500, 722, 500, 500,  500, 334, 260, 334, 584};
constexpr double wide = 0.75;
constexpr char32_t ellipsis_letter = 0x2026;
constexpr char ellipsis[] = "\xe2\x80\xa6";

// The next code point of valid UTF-8; texts of the command line and of files are checked.
char32_t next_of(const std::string& text, std::size_t& at) {
  const auto byte = [&](std::size_t i) {
    return i < text.size() ? static_cast<unsigned char>(text[i]) : 0U;
  };
  const unsigned first = byte(at++);
  if (first < 0x80) return first;
  const int more = first >= 0xF0 ? 3 : first >= 0xE0 ? 2 : 1;
  char32_t code = first & (0x3FU >> static_cast<unsigned>(more));
  for (int i = 0; i < more; ++i) code = (code << 6U) | (byte(at++) & 0x3FU);
  return code;
}

double width_of_letter(char32_t code) {
  if (code == ellipsis_letter) return 1;
  const bool is_known = code >= first_letter && code < first_letter + widths.size();
  return is_known ? widths[code - first_letter] / 1000.0 : wide;
}

}  // namespace

double width_of(const std::string& text, double size) {
  double all = 0;
  for (std::size_t at = 0; at < text.size();) {
    const char32_t code = next_of(text, at);
    all += width_of_letter(code);
  }
  return all * size;
}

std::string shortened(const std::string& text, double width, double size) {
  if (width_of(text, size) <= width) return text;
  std::vector<std::string> letters;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t from = at;
    next_of(text, at);
    letters.push_back(text.substr(from, at - from));
  }
  std::string head, tail;
  double room = width / size - width_of_letter(ellipsis_letter);
  for (std::size_t i = 0; 2 * i < letters.size(); ++i)
    for (const bool is_head : {true, false}) {
      const std::string& letter = is_head ? letters[i] : letters[letters.size() - 1 - i];
      room -= width_of(letter, 1);
      if (room < 0) return head + ellipsis + tail;
      if (is_head)
        head += letter;
      else
        tail.insert(0, letter);
    }
  return text;
}

std::optional<std::string> winansi_of(const std::string& utf8) {
  std::string bytes;
  for (std::size_t at = 0; at < utf8.size();) {
    const char32_t code = next_of(utf8, at);
    const bool is_latin = (code >= 0x20 && code < 0x7F) || (code >= 0xA0 && code <= 0xFF);
    if (is_latin)
      bytes += static_cast<char>(code);
    else if (code == 0x2013)  // an en dash
      bytes += '\x96';
    else if (code == ellipsis_letter)
      bytes += '\x85';
    else
      return std::nullopt;
  }
  return bytes;
}

}  // namespace sgdsim
