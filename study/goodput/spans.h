// Times of a training: days and weeks, which a clock of picoseconds in 64 bits does not hold.
#pragma once

#include <string>

#include "sim/core/json.h"

namespace sgdsim {

inline constexpr double seconds_of_hour = 3600;
inline constexpr double seconds_of_day = 86'400;
inline constexpr double longest_span_s = 1e13;  // 317,000 years

// "8.2 s", "20 min", "54 days", "1 week", "2 years" in seconds.
double parse_span(const std::string& text, const std::string& where);
double span_of(const Value& value);
// A field that is such a time.
struct Span {
  double s = 0;
};
inline void read_value(const Value& value, Span& span) { span.s = span_of(value); }
Json schema_of_value(const Span& usual);
// "12.3 ms", "8.20 s", "13.6 min", "2.50 h", "53.5 days".
std::string span_text(double seconds, int digits = 3);

}  // namespace sgdsim
