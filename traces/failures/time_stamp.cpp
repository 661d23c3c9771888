// Digit by digit: what is left over is no moment.
#include "traces/failures/time_stamp.h"

#include <array>
#include <charconv>
#include <chrono>
#include <cmath>
#include <optional>

#include "sim/core/decimal.h"
#include "sim/core/error.h"

namespace sgdsim {
namespace {

class Reader {
 public:
  explicit Reader(std::string_view text) : rest_(text) {}
  bool is_over() const { return rest_.empty(); }
  bool take(char letter) {
    if (rest_.empty() || rest_.front() != letter) return false;
    rest_.remove_prefix(1);
    return true;
  }
  // Exactly so many digits; -1: there are fewer.
  int digits(std::size_t count) {
    if (rest_.size() < count) return -1;
    int number = 0;
    for (std::size_t i = 0; i < count; ++i) {
      if (rest_[i] < '0' || rest_[i] > '9') return -1;
      number = 10 * number + (rest_[i] - '0');
    }
    rest_.remove_prefix(count);
    return number;
  }
  // Behind a point: a part of a second.
  double fraction() {
    double part = 0;
    double of = 0.1;
    for (int digit = digits(1); digit >= 0; digit = digits(1), of /= 10) part += digit * of;
    return part;
  }

 private:
  std::string_view rest_;
};

std::optional<double> date_of(Reader& reader) {
  const int year = reader.digits(4);
  if (year < 1900 || (!reader.take('-') && !reader.take('/'))) return {};
  const int month = reader.digits(2);
  if (!reader.take('-') && !reader.take('/')) return {};
  const int day = reader.digits(2);
  if (month < 1 || day < 1) return {};
  const std::chrono::year_month_day date{std::chrono::year(year),
                                         std::chrono::month(static_cast<unsigned>(month)),
                                         std::chrono::day(static_cast<unsigned>(day))};
  if (!date.ok()) return {};
  return 86'400. * static_cast<double>(std::chrono::sys_days(date).time_since_epoch().count());
}

std::optional<double> clock_of(Reader& reader) {
  const int hours = reader.digits(2);
  if (hours < 0 || hours > 24 || !reader.take(':')) return {};
  const int minutes = reader.digits(2);
  if (minutes < 0 || minutes > 59) return {};
  double seconds = 0;
  if (reader.take(':')) {
    const int whole = reader.digits(2);
    if (whole < 0 || whole > 60) return {};
    seconds = whole;
    if (reader.take('.') || reader.take(',')) seconds += reader.fraction();
  }
  return 3600. * hours + 60. * minutes + seconds;
}

// Seconds by which its clocks are ahead.
std::optional<double> zone_of(Reader& reader) {
  if (reader.take('Z')) return 0;
  const bool is_behind = reader.take('-');
  if (!is_behind && !reader.take('+')) return {};
  const int hours = reader.digits(2);
  if (hours < 0 || hours > 14) return {};
  const bool has_minutes = reader.take(':') || !reader.is_over();
  const int minutes = has_minutes ? reader.digits(2) : 0;
  if (minutes < 0 || minutes > 59) return {};
  return (is_behind ? -60. : 60.) * (60 * hours + minutes);
}

std::optional<TimeStamp> moment_of(std::string_view text) {
  Reader reader(text);
  const auto date = date_of(reader);
  if (!date) return {};
  TimeStamp stamp{*date, TimeStamp::Kind::local};
  if (reader.is_over()) return stamp;
  if (!reader.take('T') && !reader.take(' ')) return {};
  const auto clock = clock_of(reader);
  if (!clock) return {};
  stamp.s += *clock;
  if (reader.is_over()) return stamp;
  reader.take(' ');
  const auto zone = zone_of(reader);
  if (!zone || !reader.is_over()) return {};
  return TimeStamp{stamp.s - *zone, TimeStamp::Kind::zoned};
}

}  // namespace

TimeStamp time_stamp(std::string_view text, const std::string& where) {
  if (const auto moment = moment_of(text)) return *moment;
  double seconds = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, problem] = read_decimal(text.data(), end, seconds);
  constexpr double most_s = 253'402'300'800;  // the year 10000
  if (problem != std::errc{} || rest != end || text.empty() || !(std::abs(seconds) < most_s))
    throw InputError(where, "expected a moment, as 2026-03-01 00:18:22+08:00 or seconds, got \"" +
                                std::string(text.substr(0, 60)) + "\"");
  return {seconds, TimeStamp::Kind::seconds};
}

double TimeStamps::read(std::string_view text, const std::string& where) {
  const TimeStamp stamp = time_stamp(text, where);
  if (!has_first_) {
    has_first_ = true;
    first_where_ = where;
    first_ = stamp.kind;
  }
  const bool has_clock = text.find(':') != std::string_view::npos;
  const std::string zoned = stamp.kind == TimeStamp::Kind::local
                                ? std::string(text) + (has_clock ? "Z" : "T00:00:00Z")
                                : "2026-01-01T00:00:00Z";
  const std::array<std::string, 3> like = {
      "in seconds, as 1767225600", "without one, as 2026-01-01 00:00:00", "with one, as " + zoned};
  constexpr const char* kinds[] = {"is in seconds", "has no time zone", "has a time zone"};
  if (stamp.kind != first_)
    throw InputError(where, "\"" + std::string(text.substr(0, 60)) + "\" " +
                                kinds[static_cast<int>(stamp.kind)] + ", and the moment at " +
                                first_where_ + " " + kinds[static_cast<int>(first_)] +
                                ": they cannot be compared; write it " +
                                like[static_cast<std::size_t>(first_)]);
  return stamp.s;
}

}  // namespace sgdsim
