// Units by endings, ranges, and round numbers for marks.
#include "app/plot/scale.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>

#include "sim/core/decimal.h"
#include "sim/core/error.h"
#include "study/sweep/gains.h"

namespace sgdsim {
namespace {

constexpr std::size_t most_own_marks = 12;
constexpr double spans_much = 10;    // largest over smallest
constexpr double room_of_mark = 34;  // points
constexpr double most_double = std::numeric_limits<double>::max();

struct UnitStep {
  const char* unit;
  double size;
};
constexpr std::array<UnitStep, 5> times{
    {{"s", 1e12}, {"ms", 1e9}, {"us", 1e6}, {"ns", 1e3}, {"ps", 1}}};
constexpr std::array<UnitStep, 4> sizes{
    {{"GiB", 0x1p30}, {"MiB", 0x1p20}, {"KiB", 0x1p10}, {"B", 1}}};
constexpr std::array<UnitStep, 4> rates{
    // in bytes per second
    {{"Tbit/s", 1.25e11}, {"Gbit/s", 1.25e8}, {"Mbit/s", 1.25e5}, {"bit/s", 0.125}}};

// The first one that the largest value reaches; `scale`: from the numbers to base units.
template <std::size_t count>
void set_unit(Measure& measure, const std::array<UnitStep, count>& units, double largest,
              double scale) {
  for (const UnitStep& step : units) {
    measure.unit = step.unit;
    measure.factor = scale / step.size;
    if (largest * measure.factor >= 1) return;
  }
}

struct Ending {
  const char* ending;
  const char* unit;  // or "time" or "size"
  double scale;
};
// Rates come before what ends as they do.
constexpr std::array<Ending, 17> endings{{{"_samples_per_s", "samples/s", 1},
                                          {"_tokens_per_s", "tokens/s", 1},
                                          {"_GB_per_s", "GB/s", 1},
                                          {"_per_s", "1/s", 1},
                                          {"_ps_per_B", "ps/B", 1},
                                          {"_percent", "%", 1},
                                          {"_GBps", "GB/s", 1},
                                          {"_GiB", "GiB", 1},
                                          {"_days", "days", 1},
                                          {"_us", "time", 1e6},
                                          {"_ps", "time", 1},
                                          {"_ms", "time", 1e9},
                                          {"_ns", "time", 1e3},
                                          {"_s", "time", 1e12},
                                          {"_h", "h", 1},
                                          {"_min", "min", 1},
                                          {"_B", "size", 1}}};

std::string spaced(std::string text) {
  std::replace(text.begin(), text.end(), '_', ' ');
  return text;
}

// The shortest text writes 100000 as 1e+05.
std::string mark_text(double value, int digits) {
  if (value == 0) return "0";  // and not -0
  if (value != std::round(value) || std::abs(value) >= 1e6)
    return number_text(with_digits(value, digits));
  return std::to_string(static_cast<int64_t>(value));
}

double round_step(double raw) {
  const double power = std::pow(10, std::floor(std::log10(raw)));
  for (const double factor : {1.0, 2.0, 2.5, 5.0})
    if (factor * power >= raw) return factor * power;
  return 10 * power;
}

}  // namespace

Measure measure_of(const std::string& column, Amount::Kind kind, double largest) {
  std::string field = field_of_column(column);
  Measure measure;
  if (kind == Amount::Kind::time) set_unit(measure, times, largest, 1);
  if (kind == Amount::Kind::size) set_unit(measure, sizes, largest, 1);
  if (kind == Amount::Kind::bandwidth) set_unit(measure, rates, largest, 1);
  if (kind == Amount::Kind::per_byte) measure.unit = "ps/B";
  if (kind == Amount::Kind::number || kind == Amount::Kind::whole)
    for (const Ending& one : endings) {
      if (!field.ends_with(one.ending)) continue;
      field.resize(field.size() - std::string(one.ending).size());
      measure.unit = one.unit;
      if (measure.unit == "time") set_unit(measure, times, largest, one.scale);
      if (measure.unit == "size") set_unit(measure, sizes, largest, one.scale);
      break;
    }
  measure.words = spaced(field);
  if (measure.words == "iteration") measure.words = "iteration time";
  return measure;
}

std::string words_of_column(const std::string& column) {
  const std::string words = measure_of(column, Amount::Kind::number, 1).words;
  const std::string last = column.substr(column.rfind('.') + 1);
  const bool is_plain = last == "mean" || last == field_of_column(column);
  return is_plain ? words : words + " (" + last + ")";
}

Scale::Scale(std::vector<double> values, Spacing spacing, bool has_marks_at_values, bool has_zero,
             double length, const std::string& axis) {
  std::sort(values.begin(), values.end());
  values.erase(std::unique(values.begin(), values.end()), values.end());
  least_ = values.front();
  most_ = values.back();
  if (spacing == Spacing::logarithmic && least_ <= 0)
    throw InputError("--log-" + axis, "there is a value of " + mark_text(least_, 4) +
                                          ", which has no logarithm; leave the option out");
  is_log_ = spacing == Spacing::logarithmic ||
            (spacing == Spacing::by_range && least_ > 0 && most_ >= spans_much * least_);
  if (is_log_)
    set_log(length);
  else
    set_linear(has_zero, length, axis);
  if (has_marks_at_values && values.size() <= most_own_marks) marks_ = values;
}

void Scale::set_log(double length) {
  const double least = std::exchange(least_, std::log10(least_));
  const double most = std::exchange(most_, std::log10(most_));
  const double decades = std::max(most_ - least_, 0.1);
  const bool has_room = length / decades > 1.2 * room_of_mark;
  // Of many decades every second, third, ... has a mark.
  const int apart = std::max(1, static_cast<int>(std::ceil(room_of_mark / 2 * decades / length)));
  const int first = static_cast<int>(std::floor(least_ / apart)) * apart;
  for (int power = first; power <= std::ceil(most_); power += apart)
    for (const double step : {1.0, 2.0, 5.0}) {
      const double mark = with_digits(step * std::pow(10, power), 2);
      if ((step == 1 || has_room) && mark >= least && mark <= most) marks_.push_back(mark);
    }
  if (marks_.size() < 2) marks_ = {least, most};
  const double room = std::max(0.04 * (most_ - least_), 0.01);
  least_ -= room;
  most_ += room;
}

void Scale::set_linear(bool has_zero, double length, const std::string& axis) {
  if (!std::isfinite(1.1 * (most_ - least_)))
    throw InputError("--" + axis, "values from " + mark_text(least_, 4) + " to " +
                                      mark_text(most_, 4) +
                                      " are too far apart to be drawn; leave rows out");
  if (has_zero) {
    least_ = std::min(least_, 0.0);
    most_ = std::max(most_, 0.0);
  }
  // Values that hardly differ, if at all: no marks could tell them apart.
  const double size = std::max(std::abs(least_), std::abs(most_));
  if (most_ - least_ <= 1e-9 * size || size == 0) {
    most_ += size == 0 ? 1 : size / 2;
    least_ -= least_ == 0 ? 0 : size / 2;
  }
  const double room = (most_ - least_) * 0.04;
  const bool stands_on_zero = has_zero && least_ == 0;
  if (!stands_on_zero) least_ -= room;
  most_ += room;
  const double step = round_step((most_ - least_) / std::max(2.0, length / room_of_mark));
  for (double i = std::ceil(least_ / step); i * step <= most_; ++i)
    marks_.push_back(with_digits(i * step, 13));
}

double Scale::at(double value) const {
  return ((is_log_ ? std::log10(value) : value) - least_) / (most_ - least_);
}

std::vector<std::string> mark_texts(const std::vector<double>& marks) {
  const auto gap = [&](std::size_t i) {
    const double before = i > 0 ? marks[i] - marks[i - 1] : most_double;
    return std::min(before, i + 1 < marks.size() ? marks[i + 1] - marks[i] : most_double);
  };
  const auto fit = [&](int digits) {
    for (std::size_t i = 0; i < marks.size(); ++i)
      if (std::abs(with_digits(marks[i], digits) - marks[i]) > 0.02 * gap(i)) return false;
    return true;
  };
  int digits = 4;
  while (digits < 17 && !fit(digits)) ++digits;
  std::vector<std::string> texts;
  for (const double mark : marks) texts.push_back(mark_text(mark, digits));
  return texts;
}

}  // namespace sgdsim
