// The C++ library reads and writes to the last bit.
#include "sim/core/decimal.h"

#include <array>

namespace sgdsim {

std::from_chars_result read_decimal(const char* begin, const char* end, double& value) {
  return std::from_chars(begin, end, value);
}

std::string number_text(double value) {
  std::array<char, 32> buffer{};
  const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value).ptr;
  return {buffer.data(), end};
}

double with_digits(double value, int digits) {
  std::array<char, 40> text{};
  const auto end = std::to_chars(text.data(), text.data() + text.size(), value,
                                 std::chars_format::scientific, digits - 1);
  double rounded = 0;
  std::from_chars(text.data(), end.ptr, rounded);
  return rounded;
}

}  // namespace sgdsim
