// Numbers with a fraction as text, there and back, to the last bit.
//
// The C++ library does it in one line (decimal.cpp). What sgdsim is built with for a browser has an
// older one that cannot; it brings its own decimal.cpp, which must give the same.
#pragma once

#include <charconv>
#include <string>

namespace sgdsim {

// As std::from_chars: no sign but a minus, no blanks, and the value stays where there is no number.
std::from_chars_result read_decimal(const char* begin, const char* end, double& value);

// The shortest text that reads as this number.
std::string number_text(double value);

// So many digits in all, 1 to 17. Decimal rounding, so that the text is short and the same on every
// machine.
double with_digits(double value, int digits);

}  // namespace sgdsim
