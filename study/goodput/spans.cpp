// One table of units; each value is read once, in seconds.
#include "study/goodput/spans.h"

#include <array>
#include <string_view>
#include <utility>

#include "sim/core/decimal.h"
#include "sim/core/error.h"
#include "study/table.h"

namespace sgdsim {
namespace {

constexpr std::array<std::pair<std::string_view, double>, 13> span_units{{{"ps", 1e-12},
                                                                          {"ns", 1e-9},
                                                                          {"us", 1e-6},
                                                                          {"ms", 1e-3},
                                                                          {"s", 1},
                                                                          {"min", 60},
                                                                          {"h", seconds_of_hour},
                                                                          {"day", seconds_of_day},
                                                                          {"days", seconds_of_day},
                                                                          {"week", 604'800},
                                                                          {"weeks", 604'800},
                                                                          {"year", 31'557'600},
                                                                          {"years", 31'557'600}}};

}  // namespace

double parse_span(const std::string& text, const std::string& where) {
  double number = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, problem] = read_decimal(text.data(), end, number);
  std::string_view unit(rest, static_cast<std::size_t>(end - rest));
  if (unit.starts_with(' ')) unit.remove_prefix(1);
  for (const auto& [name, factor] : span_units) {
    if (problem != std::errc{} || name != unit) continue;
    // Neither a negative number nor one that is none is in this range.
    if (number >= 0 && number * factor <= longest_span_s) return number * factor;
    throw InputError(where,
                     "expected a time from 0 to 300000 years, got \"" + text.substr(0, 60) + "\"");
  }
  throw InputError(
      where, "expected a time with a unit (ps, ns, us, ms, s, min, h, days, weeks, years), got \"" +
                 text.substr(0, 60) + "\"");
}

Json schema_of_value(const Span&) {
  std::string units;
  for (const auto& [name, factor] : span_units) units.append(units.empty() ? "" : "|").append(name);
  return {{"type", "string"},
          {"pattern", R"(^([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)? ?()" + units + ")$"}};
}

double span_of(const Value& value) { return parse_span(value.text(), value.where()); }

std::string span_text(double seconds, int digits) {
  if (seconds == 0) return "0";
  if (seconds < 60) return short_duration(seconds * 1e6, digits);
  if (seconds < seconds_of_hour) return rounded(seconds / 60, digits) + " min";
  if (seconds < seconds_of_day) return rounded(seconds / seconds_of_hour, digits) + " h";
  return rounded(seconds / seconds_of_day, digits) + " days";
}

}  // namespace sgdsim
