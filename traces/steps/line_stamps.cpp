// Stamps of whole seconds are compared where lines are far enough apart.
#include "traces/steps/line_stamps.h"

#include <algorithm>
#include <chrono>
#include <cmath>

#include "traces/measurement/words.h"

namespace sgdsim {
namespace {

// "dddd-dd-dd?dd:dd:dd" at a place, d a digit.
bool has_stamp_at(std::string_view line, std::size_t at) {
  constexpr std::string_view shape = "dddd-dd-dd?dd:dd:dd";
  if (line.size() < at + shape.size()) return false;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    const char c = line[at + i];
    const bool is_digit = c >= '0' && c <= '9';
    if (shape[i] == 'd' ? !is_digit : shape[i] == '?' ? c != ' ' && c != 'T' : c != shape[i])
      return false;
  }
  return true;
}

int digits_at(std::string_view line, std::size_t at, std::size_t count) {
  int number = 0;
  for (std::size_t i = at; i < at + count; ++i) number = number * 10 + (line[i] - '0');
  return number;
}

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace

std::optional<LineStamp> stamp_in(std::string_view line) {
  constexpr std::size_t length = 19;
  std::size_t at = line.find('-');
  while (at != line.npos && (at < 4 || !has_stamp_at(line, at - 4))) at = line.find('-', at + 1);
  if (at == line.npos) return std::nullopt;
  at -= 4;
  using namespace std::chrono;
  const year_month_day day{year(digits_at(line, at, 4)),
                           month(static_cast<unsigned>(digits_at(line, at + 5, 2))),
                           std::chrono::day(static_cast<unsigned>(digits_at(line, at + 8, 2)))};
  if (!day.ok()) return std::nullopt;
  LineStamp stamp;
  stamp.s = static_cast<double>(sys_days(day).time_since_epoch().count()) * 86'400 +
            digits_at(line, at + 11, 2) * 3600 + digits_at(line, at + 14, 2) * 60 +
            digits_at(line, at + 17, 2);
  std::string_view rest = line.substr(at + length);
  if (rest.empty() || (rest.front() != ',' && rest.front() != '.')) return stamp;
  rest = rest.substr(1, rest.find_first_not_of("0123456789", 1) - 1);
  const auto part = rest.size() < 10 ? whole_word(rest) : std::nullopt;
  if (!part) return stamp;
  stamp.is_fine = true;
  stamp.s += static_cast<double>(*part) / std::pow(10, static_cast<double>(rest.size()));
  return stamp;
}

void LineStamps::add(std::string_view line, int64_t number, double seconds) {
  if (const auto stamp = stamp_in(line)) lines_.push_back({*stamp, number, seconds});
}

std::optional<LineStamps::Pace> LineStamps::pace() const {
  std::vector<double> paces;
  std::vector<double> ratios;
  for (std::size_t i = 1; i < lines_.size(); ++i) {
    const auto steps = static_cast<double>(lines_[i].number - lines_[i - 1].number);
    const double passed_s = lines_[i].stamp.s - lines_[i - 1].stamp.s;
    const double told_s = lines_[i].stamp.is_fine ? 0.005 : 5;  // some resolutions
    if (steps < 1 || passed_s < told_s || !(lines_[i].seconds > 0)) continue;
    paces.push_back(passed_s / steps);
    ratios.push_back(paces.back() / lines_[i].seconds);
  }
  if (ratios.size() < 2) return std::nullopt;
  return Pace{median(paces), median(ratios)};
}

}  // namespace sgdsim
