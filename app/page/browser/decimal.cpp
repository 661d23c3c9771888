// Numbers with a fraction by the C library, where the C++ library has no such conversions.
//
// strtod and printf round correctly in every C library of today. The shortest text is found by
// trying: the first of 1 to 17 digits that reads as the same number. Just above a power of two the
// numbers below lie twice as close as those above, so that the nearest text of so many digits may
// read as a neighbour while the next one up reads as the number; that one is tried, too.
#include "sim/core/decimal.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <string_view>

namespace sgdsim {
namespace {

constexpr int most_digits = 17;

bool is_digit(char letter) { return letter >= '0' && letter <= '9'; }

std::size_t digits_at(std::string_view text, std::size_t at) {
  const std::size_t begin = at;
  while (at < text.size() && is_digit(text[at])) ++at;
  return at - begin;
}

// How much of the text is a number such as -1.5e3; 0: nothing.
std::size_t length_of_number(std::string_view text) {
  std::size_t at = text.starts_with('-') ? 1 : 0;
  const std::size_t whole = digits_at(text, at);
  at += whole;
  std::size_t fraction = 0;
  if (at < text.size() && text[at] == '.') {
    fraction = digits_at(text, at + 1);
    if (whole + fraction > 0) at += 1 + fraction;
  }
  if (whole + fraction == 0) return 0;
  if (at == text.size() || (text[at] != 'e' && text[at] != 'E')) return at;
  std::size_t power = at + 1;
  if (power < text.size() && (text[power] == '+' || text[power] == '-')) ++power;
  const std::size_t digits = digits_at(text, power);
  return digits == 0 ? at : power + digits;
}

bool begins_with(std::string_view text, std::string_view word) {
  if (text.size() < word.size()) return false;
  for (std::size_t i = 0; i < word.size(); ++i)
    if ((text[i] | ' ') != word[i]) return false;
  return true;
}

// "inf", "infinity", "nan" and "nan(...)" in small or capital letters; 0: none of them.
std::size_t length_of_word(std::string_view text) {
  if (begins_with(text, "infinity")) return 8;
  if (begins_with(text, "inf")) return 3;
  if (!begins_with(text, "nan")) return 0;
  if (text.size() == 3 || text[3] != '(') return 3;
  const std::size_t close = text.find(')', 4);
  for (std::size_t i = 4; i < close && close != text.npos; ++i)
    if (std::isalnum(static_cast<unsigned char>(text[i])) == 0 && text[i] != '_') return 3;
  return close == text.npos ? 3 : close + 1;
}

double number_in(const char* text) { return std::strtod(text, nullptr); }

// "d.ddde+xx" of so many digits, one more in the last place if `up`; empty if that carries.
std::string scientific(double value, int digits, bool up) {
  std::array<char, 40> buffer{};
  std::snprintf(buffer.data(), buffer.size(), "%.*e", digits - 1, value);
  std::string text = buffer.data();
  if (!up) return text;
  char& last = text[text.find('e') - 1];
  if (!is_digit(last) || last == '9') return {};
  ++last;
  return text;
}

std::string shortest_scientific(double value) {
  for (int digits = 1; digits < most_digits; ++digits)
    for (const bool up : {false, true}) {
      std::string text = scientific(value, digits, up);
      if (!text.empty() && number_in(text.c_str()) == value) return text;
    }
  return scientific(value, most_digits, false);
}

// The same digits without a power. A whole number beyond them is written to its last digit.
std::string plain(double value, std::string_view text) {
  const int power = std::atoi(text.data() + text.find('e') + 1);
  std::string sign, digits;
  for (const char letter : text.substr(0, text.find('e'))) {
    if (is_digit(letter)) digits += letter;
    if (letter == '-') sign = "-";
  }
  const auto before = static_cast<std::size_t>(std::max(0, power + 1));  // the point
  if (before >= digits.size()) {
    std::array<char, 400> buffer{};
    std::snprintf(buffer.data(), buffer.size(), "%.0f", value);
    return buffer.data();
  }
  if (power >= 0) return sign + digits.insert(before, ".");
  return sign + "0." + std::string(static_cast<std::size_t>(-power - 1), '0') + digits;
}

}  // namespace

std::from_chars_result read_decimal(const char* begin, const char* end, double& value) {
  const std::string_view text(begin, static_cast<std::size_t>(end - begin));
  const std::size_t length = length_of_number(text);
  if (length > 0) {
    const double number = number_in(std::string(text.substr(0, length)).c_str());
    const std::size_t power = text.substr(0, length).find_first_of("eE");
    const bool has_digits = text.substr(0, std::min(power, length)).find_first_of("123456789") !=
                            std::string_view::npos;
    if (std::isinf(number) || (number == 0 && has_digits))
      return {begin + length, std::errc::result_out_of_range};
    value = number;
    return {begin + length, std::errc{}};
  }
  const std::size_t sign = text.starts_with('-') ? 1 : 0;
  const std::size_t word = length_of_word(text.substr(sign));
  if (word == 0) return {begin, std::errc::invalid_argument};
  value = begins_with(text.substr(sign), "inf") ? std::numeric_limits<double>::infinity()
                                                : std::numeric_limits<double>::quiet_NaN();
  if (sign == 1) value = -value;
  return {begin + sign + word, std::errc{}};
}

std::string number_text(double value) {
  if (std::isnan(value)) return std::signbit(value) ? "-nan" : "nan";
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  if (value == 0) return std::signbit(value) ? "-0" : "0";
  const std::string text = shortest_scientific(value);
  const std::string without_power = plain(value, text);
  return without_power.size() <= text.size() ? without_power : text;
}

double with_digits(double value, int digits) {
  return number_in(scientific(value, digits, false).c_str());
}

}  // namespace sgdsim
