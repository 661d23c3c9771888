// Parsing and printing of quantities. A kind of quantity is a table of units, each with its factor
// to the base unit; everything else is shared.
#include "sim/core/quantity.h"

#include <array>
#include <cmath>
#include <span>

#include "sim/core/error.h"
#include "sim/core/letters.h"

namespace sgdsim {
namespace {

struct Unit {
  std::string_view name;
  double factor = 1;  // to the base unit of the kind
};

struct Kind {
  std::string_view name;  // with its article, for sentences: "a bandwidth"
  std::span<const Unit> units;
  double largest = 0;  // in base units
};

constexpr std::array<Unit, 7> duration_units{{{"ps", 1},
                                              {"ns", 1e3},
                                              {"us", 1e6},
                                              {"ms", 1e9},
                                              {"s", 1e12},
                                              {"min", 60e12},
                                              {"h", 3600e12}}};

constexpr std::array<Unit, 9> size_units{{{"B", 1},
                                          {"KB", 1e3},
                                          {"MB", 1e6},
                                          {"GB", 1e9},
                                          {"TB", 1e12},
                                          {"KiB", 0x1p10},
                                          {"MiB", 0x1p20},
                                          {"GiB", 0x1p30},
                                          {"TiB", 0x1p40}}};

constexpr std::array<Unit, 31> bandwidth_units{{
    {"bps", 1. / 8},     {"kbps", 1e3 / 8},   {"Mbps", 1e6 / 8},    {"Gbps", 1e9 / 8},
    {"Tbps", 1e12 / 8},  {"Bps", 1},          {"KBps", 1e3},        {"MBps", 1e6},
    {"GBps", 1e9},       {"TBps", 1e12},      {"KiBps", 0x1p10},    {"MiBps", 0x1p20},
    {"GiBps", 0x1p30},   {"b/s", 1. / 8},     {"kb/s", 1e3 / 8},    {"Mb/s", 1e6 / 8},
    {"Gb/s", 1e9 / 8},   {"Tb/s", 1e12 / 8},  {"B/s", 1},           {"KB/s", 1e3},
    {"MB/s", 1e6},       {"GB/s", 1e9},       {"TB/s", 1e12},       {"KiB/s", 0x1p10},
    {"MiB/s", 0x1p20},   {"GiB/s", 0x1p30},   {"bit/s", 1. / 8},    {"kbit/s", 1e3 / 8},
    {"Mbit/s", 1e6 / 8}, {"Gbit/s", 1e9 / 8}, {"Tbit/s", 1e12 / 8},
}};

constexpr std::array<Unit, 5> per_byte_units{
    {{"ps/B", 1}, {"ns/B", 1e3}, {"us/B", 1e6}, {"ms/B", 1e9}, {"s/B", 1e12}}};

// Half of what 64 bits hold, so that sums of a few inputs cannot overflow unseen.
constexpr double largest_count = 0x1p62;

constexpr Kind duration_kind{"a time", duration_units, largest_count};
constexpr Kind size_kind{"a size", size_units, largest_count};
constexpr Kind bandwidth_kind{"a bandwidth", bandwidth_units, 1e18};
constexpr Kind per_byte_kind{"a time per byte", per_byte_units, 1e18};

std::string unit_list(const Kind& kind) {
  std::string list;
  for (const Unit& unit : kind.units) list += (list.empty() ? "" : ", ") + std::string(unit.name);
  return list;
}

struct Meant {
  std::string_view word, unit;
};
constexpr std::array<Meant, 11> words_of_times{{{"sec", "s"},
                                                {"min", "min"},
                                                {"second", "s"},
                                                {"minute", "min"},
                                                {"m", "min"},
                                                {"hr", "h"},
                                                {"hour", "h"},
                                                {"millisecond", "ms"},
                                                {"msec", "ms"},
                                                {"microsecond", "us"},
                                                {"nanosecond", "ns"}}};

// The units that an unknown one may stand for: those that differ by capitals ("gbps"), bits and
// bytes per second of a bare factor ("100G"), and of times words ("hours").
std::string meant_by(std::string_view name, const Kind& kind) {
  if (kind.units.data() == duration_units.data()) {
    if (name == "d" || name == "day" || name == "days") return "; a day is 24 h";
    std::string_view one = name;
    if (one.size() > 1 && one.ends_with('s')) one.remove_suffix(1);
    for (const Meant& meant : words_of_times)
      if (meant.word == one) return "; did you mean " + std::string(meant.unit) + "?";
  }
  std::string list;
  for (const Unit& unit : kind.units) {
    const std::string known = in_lower_case(unit.name);
    const std::string given = in_lower_case(name);
    const bool is_meant = known == given || known == given + "ps" || known == given + "bps";
    if (given.empty() || !is_meant) continue;
    list += (list.empty() ? "; did you mean " : " or ") + std::string(unit.name);
  }
  return list.empty() ? "" : list + "?";
}

// The value in base units. The product is rounded once, so "0.1 us" is exactly 100000 ps.
double parse(std::string_view text, const std::string& where, const Kind& kind) {
  auto fail = [&](const std::string& why) -> InputError {
    return {where, "expected " + std::string(kind.name) + " with a unit (" + unit_list(kind) +
                       "), got \"" + std::string(text.substr(0, 60)) + "\"" + why};
  };
  double number = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, problem] = read_decimal(text.data(), end, number);
  if (problem == std::errc::result_out_of_range) throw fail(", which is out of range");
  if (problem != std::errc{}) throw fail("");
  std::string_view name(rest, static_cast<std::size_t>(end - rest));
  if (name.starts_with(' ')) name.remove_prefix(1);
  if (name.empty()) throw fail(", which has no unit");
  // The micro sign and the Greek letter.
  const bool is_micro = name.starts_with("\u00b5") || name.starts_with("\u03bc");
  const std::string unit_name = is_micro ? "u" + std::string(name.substr(2)) : std::string(name);
  const Unit* found = nullptr;
  for (const Unit& unit : kind.units)
    if (unit.name == unit_name) found = &unit;
  if (found == nullptr) throw fail(meant_by(unit_name, kind));
  if (!std::isfinite(number)) throw fail(", which is not a finite number");
  if (std::signbit(number)) throw fail(", which is negative");
  const double value = number * found->factor;
  if (value > kind.largest) throw fail(", which is too large");
  return value;
}

// A number that is not negative, and a unit.
std::string pattern_of(const Kind& kind) {
  std::string units;
  for (const Unit& unit : kind.units) {
    units += (units.empty() ? "" : "|") + std::string(unit.name);
    if (unit.name.starts_with('u'))
      for (const char* micro : {"\u00b5", "\u03bc"})
        units += "|" + (micro + std::string(unit.name.substr(1)));
  }
  return R"(^([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)? ?()" + units + ")$";
}

// A decimal such as 0.3 KB is a whole number of bytes up to the rounding of its binary form, which
// is a few units in the last place of the value. Of large sizes, as 79.6 GiB, the nearest number is
// meant.
int64_t whole(double value, std::string_view text, const std::string& where) {
  constexpr double large = 1000;
  const double nearest = std::nearbyint(value);
  if (value < large && std::abs(value - nearest) > value * 0x1p-50)
    throw InputError(where, "expected a whole number of bytes, got \"" + std::string(text) + "\"");
  return static_cast<int64_t>(nearest);
}

// The largest unit in which the value is a short number; base units otherwise.
std::string in_best_unit(double value, std::span<const Unit> units) {
  std::string best;
  for (const Unit& unit : units) {
    if (value != 0 && value < unit.factor) continue;
    const double scaled = value / unit.factor;
    if (scaled * unit.factor != value) continue;
    const std::string text = number_text(scaled) + " " + std::string(unit.name);
    if (best.empty() || text.size() <= best.size()) best = text;
    if (value == 0) break;
  }
  if (!best.empty()) return best;
  return number_text(value / units.front().factor) + " " + std::string(units.front().name);
}

}  // namespace

std::string pattern_of_durations() { return pattern_of(duration_kind); }
std::string pattern_of_bytes() { return pattern_of(size_kind); }
std::string pattern_of_bandwidths() { return pattern_of(bandwidth_kind); }
std::string pattern_of_per_byte() { return pattern_of(per_byte_kind); }

Duration parse_duration(std::string_view text, const std::string& where) {
  return Duration::nearest_ps(parse(text, where, duration_kind));
}

Bytes parse_bytes(std::string_view text, const std::string& where) {
  return Bytes(whole(parse(text, where, size_kind), text, where));
}

Bandwidth parse_bandwidth(std::string_view text, const std::string& where) {
  const double value = parse(text, where, bandwidth_kind);
  if (value < 1e-3)
    throw InputError(
        where, "expected a bandwidth of at least 0.001 B/s, got \"" + std::string(text) + "\"");
  return Bandwidth::Bps(value);
}

PerByte parse_per_byte(std::string_view text, const std::string& where) {
  return PerByte::ps(parse(text, where, per_byte_kind));
}

std::string to_text(Duration length) {
  return in_best_unit(static_cast<double>(length.ps()),
                      std::span(duration_units).first(5));  // no minutes or hours
}

std::string to_text(Bytes size) {
  return in_best_unit(static_cast<double>(size.count()), size_units);
}

std::string to_text(Bandwidth rate) {
  return in_best_unit(rate.Bps(), std::span(bandwidth_units).first(10));
}

std::string to_text(PerByte rate) { return in_best_unit(rate.ps(), per_byte_units); }

}  // namespace sgdsim
