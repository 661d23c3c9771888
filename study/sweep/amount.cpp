// Numbers and quantities, there and back.
#include "study/sweep/amount.h"

#include <cmath>

#include "sim/core/decimal.h"
#include "sim/core/error.h"
#include "sim/core/quantity.h"

namespace sgdsim {
namespace {

using Kind = Amount::Kind;

// A bare number has no unit and is no quantity; what is left are four kinds of units.
std::optional<double> in_base_units(const std::string& text, Kind kind) {
  try {
    switch (kind) {
      case Kind::time:
        return static_cast<double>(parse_duration(text, "").ps());
      case Kind::size:
        return static_cast<double>(parse_bytes(text, "").count());
      case Kind::bandwidth:
        return parse_bandwidth(text, "").Bps();
      case Kind::per_byte:
        return parse_per_byte(text, "").ps();
      case Kind::whole:
      case Kind::number:
        break;
    }
  } catch (const InputError&) {
    // Not of this kind.
  }
  return std::nullopt;
}

std::optional<Amount> quantity_of(const std::string& text) {
  if (text.empty() || text.size() > 60) return std::nullopt;
  double number = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, problem] = read_decimal(text.data(), end, number);
  if (problem != std::errc{} || rest == end) return std::nullopt;
  std::string unit(*rest == ' ' ? rest + 1 : rest, end);
  for (const Kind kind : {Kind::time, Kind::size, Kind::bandwidth, Kind::per_byte})
    if (const auto value = in_base_units(text, kind)) return Amount{kind, *value, std::move(unit)};
  return std::nullopt;
}

}  // namespace

std::optional<Amount> amount_of(const Json& json) {
  if (json.is_number_integer()) return Amount{Kind::whole, json.get<double>(), ""};
  if (json.is_number_float()) return Amount{Kind::number, json.get<double>(), ""};
  if (json.is_string()) return quantity_of(json.get<std::string>());
  return std::nullopt;
}

Json Amount::json(double other, int digits) const {
  switch (kind) {
    case Kind::whole:
      return std::llround(other);
    case Kind::number:
      return with_digits(other, digits);
    case Kind::size:
      return to_text(Bytes::nearest(other));
    case Kind::time:
    case Kind::bandwidth:
    case Kind::per_byte:
      break;
  }
  const double one = in_base_units("1 " + unit, kind).value_or(1);
  return number_text(with_digits(other / one, digits)) + " " + unit;
}

std::string_view name_of(Amount::Kind kind) {
  switch (kind) {
    case Kind::whole:
      return "a whole number";
    case Kind::number:
      return "a number";
    case Kind::time:
      return "a time";
    case Kind::size:
      return "a size";
    case Kind::bandwidth:
      return "a bandwidth";
    case Kind::per_byte:
      return "a time per byte";
  }
  return "";
}

}  // namespace sgdsim
