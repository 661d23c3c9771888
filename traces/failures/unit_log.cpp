// A row is a failure: when, of which unit, why, and until when it was down. A unit runs from the
// start of the log, or from when it is back, until it fails. All that never failed ran throughout.
#include <algorithm>
#include <array>
#include <optional>
#include <set>
#include <utility>

#include "sim/core/error.h"
#include "sim/core/json.h"
#include "traces/failures/log_kinds.h"
#include "traces/failures/record_writer.h"
#include "traces/failures/time_stamp.h"

namespace sgdsim {
namespace {

constexpr std::array time_names = {"time", "timestamp", "failed_at"};
constexpr std::array unit_names = {"unit", "node", "host", "hostname", "gpu", "machine"};
constexpr std::array cause_names = {"cause", "reason"};
constexpr std::array end_names = {"down_until", "repaired_at", "back_at"};

template <class Names>
std::optional<std::size_t> place_of(const TableHead& head, const Names& names) {
  for (const char* name : names)
    if (const auto found = head.find(name); found != head.end()) return found->second;
  return {};
}

struct Failure {
  double at_s = 0;
  std::optional<double> down_until_s = {};
  std::string at = {};  // as it is written
  std::string unit = {};
  int32_t cause = 0;
  std::string where = {};
};

class UnitLog {
 public:
  UnitLog(const LogText& log, const FailureScope& scope)
      : scope_(scope), stamps_(log.file), writer_(record_) {
    record_.file = log.file;
    record_.format = "a table of failures";
    if (!scope.unit.empty()) record_.unit = scope.unit;
    if (scope.units <= 0)
      throw InputError("--units", "how many units (" + record_.unit +
                                      "s) is the log of, those that never failed with them? Say "
                                      "--units 2048");
    record_.unit_count = scope.units;
    record_.runs = record_.named = record_.unit;
    read(log);
    // Behind the log, whose moments they have to be like.
    if (!scope.since.empty()) since_s_ = stamps_.read(scope.since, "--since");
    if (!scope.until.empty()) until_s_ = stamps_.read(scope.until, "--until");
  }
  FailureRecord take() {
    find_window();
    std::stable_sort(failures_.begin(), failures_.end(),
                     [](const Failure& a, const Failure& b) { return a.at_s < b.at_s; });
    for (const Failure& failure : failures_) fail(failure);
    if (has_units_)
      end_units();
    else
      record_.seen_unit_s = record_.unit_count * (*until_s_ - *since_s_) - down_s_;
    writer_.note_left_out(while_down_,
                          "failures of units that were down already belong to the first");
    writer_.note_left_out(
        repeated_, "rows repeat a failure of the same unit at the same moment, and count once");
    writer_.see(*since_s_, *until_s_);
    writer_.finish();
    return std::move(record_);
  }

 private:
  void read(const LogText& log) {
    bool is_first = true;
    read_rows(log, [&](const auto& cells, const TableHead& head, const std::string& where) {
      if (std::exchange(is_first, false)) note_columns(head);
      read_row(cells, head, where);
    });
    if (failures_.empty()) throw InputError(log.file, "has no failure");
  }
  // Which a word that is misspelt is one of.
  void note_columns(const TableHead& head) {
    std::set<std::size_t> read;
    for (const auto& place : {place_of(head, time_names), place_of(head, unit_names),
                              place_of(head, cause_names), place_of(head, end_names)})
      if (place) read.insert(*place);
    constexpr std::size_t most_named = 8;
    std::size_t count = 0;
    std::string others;
    for (const auto& [name, place] : head)
      if (!read.contains(place) && ++count <= most_named)
        others += (others.empty() ? "" : ", ") + printable(name);
    if (count > most_named) others += ", ... (" + std::to_string(count) + ")";
    if (count > 0)
      record_.notes.push_back("not read: the columns " + others +
                              "; known are time, unit, cause and down_until");
  }
  void read_row(const std::vector<std::string>& cells, const TableHead& head,
                const std::string& where) {
    // The one unit there is needs no name.
    has_units_ = place_of(head, unit_names).has_value() || record_.unit_count == 1;
    Failure failure{.where = where};
    failure.at = cells[*place_of(head, time_names)];
    failure.at_s = stamps_.read(failure.at, where);
    if (const auto place = place_of(head, unit_names)) {
      failure.unit = cells[*place];
      if (failure.unit.empty()) throw InputError(where, "does not say which unit failed");
      check_name(failure.unit, where);
    }
    const auto cause = place_of(head, cause_names);
    failure.cause = writer_.cause(cause ? cells[*cause] : "any failure", where);
    const auto end = place_of(head, end_names);
    if (end && !cells[*end].empty()) {
      failure.down_until_s = stamps_.read(cells[*end], where);
      if (*failure.down_until_s < failure.at_s)
        throw InputError(where, "is down until " + cells[*end] + ", before it failed");
    }
    failures_.push_back(std::move(failure));
  }

  void find_window() {
    const auto [first, last] =
        std::minmax_element(failures_.begin(), failures_.end(),
                            [](const Failure& a, const Failure& b) { return a.at_s < b.at_s; });
    const double apart_s =
        (last->at_s - first->at_s) / std::max(1., static_cast<double>(failures_.size()) - 1);
    if (!since_s_ || !until_s_)
      record_.notes.push_back(
          std::string("the log is taken to ") +
          (since_s_   ? "end half a mean gap behind its last failure; --until"
           : until_s_ ? "begin half a mean gap before its first failure; --since"
                      : "begin half a mean gap before its first failure and to end as long behind "
                        "its last; --since and --until") +
          " would say when it did");
    if (!since_s_) since_s_ = first->at_s - apart_s / 2;
    if (!until_s_) until_s_ = last->at_s + apart_s / 2;
    if (*until_s_ <= *since_s_)
      throw InputError(scope_.until.empty() ? "--until" : "--since",
                       "the log would have no length: say from when to when it was kept");
    if (first->at_s < *since_s_)
      throw InputError(first->where, "failed before the log began: give --since \"" + first->at +
                                         "\", or earlier");
    if (last->at_s > *until_s_)
      throw InputError(last->where,
                       "failed after the log ended: give --until \"" + last->at + "\", or later");
  }

  void fail(const Failure& failure) {
    const double back_s = std::min(failure.down_until_s.value_or(failure.at_s), *until_s_);
    if (has_units_) {
      const auto place = running_.emplace(failure.unit, *since_s_).first;
      double& from_s = place->second;
      if (failure.at_s < from_s) {
        ++while_down_;
        lengthen(failure, from_s, back_s);
        return;
      }
      const auto [last, is_first] = last_failures_.try_emplace(failure.unit, Last{});
      if (!is_first && last->second.at_s == failure.at_s) {
        ++repeated_;
        return;
      }
      last->second = {failure.at_s, record_.outages.size(), failure.down_until_s.has_value()};
      FailureRecord::Unit& unit = writer_.unit(failure.unit);
      ++unit.failures;
      unit.seen_s += failure.at_s - from_s;
      record_.spells.push_back({failure.at_s - from_s, 1, failure.cause, number_of(unit)});
      from_s = back_s;
    }
    writer_.fail(failure.at_s, failure.cause);
    down_s_ += back_s - failure.at_s;
    if (failure.down_until_s)
      record_.outages.push_back({failure.cause, *failure.down_until_s - failure.at_s});
  }
  int32_t number_of(const FailureRecord::Unit& unit) const {
    return static_cast<int32_t>(&unit - record_.units.data());
  }
  // A failure while a unit is down may keep it down for longer, which is one outage.
  void lengthen(const Failure& failure, double& from_s, double back_s) {
    const auto last = last_failures_.find(failure.unit);
    if (last != last_failures_.end() && last->second.is_known && failure.down_until_s) {
      auto& outage = record_.outages[last->second.outage];
      outage.length_s = std::max(outage.length_s, *failure.down_until_s - last->second.at_s);
    }
    down_s_ += std::max(0., back_s - from_s);
    from_s = std::max(from_s, back_s);
  }
  void end_units() {
    const auto named = static_cast<double>(running_.size());
    if (named > record_.unit_count)
      throw InputError(
          "--units", "the log names " + std::to_string(running_.size()) + " " + record_.unit + "s");
    for (const auto& [name, from_s] : running_) {
      const double rest_s = *until_s_ - from_s;
      FailureRecord::Unit& unit = writer_.unit(name);
      unit.seen_s += rest_s;
      record_.spells.push_back({rest_s, 1, -1, number_of(unit)});
    }
    for (const FailureRecord::Unit& unit : record_.units) record_.seen_unit_s += unit.seen_s;
    const double others = record_.unit_count - named;
    const double length_s = *until_s_ - *since_s_;
    if (others > 0) record_.spells.push_back({length_s, others, -1});
    record_.seen_unit_s += others * length_s;
  }

  const FailureScope& scope_;
  TimeStamps stamps_;
  FailureRecord record_;
  RecordWriter writer_;
  std::vector<Failure> failures_;
  bool has_units_ = false;
  std::optional<double> since_s_;
  std::optional<double> until_s_;
  std::map<std::string, double> running_;  // units that have failed, and since when they run
  struct Last {
    double at_s = 0;
    std::size_t outage = 0;  // among those of the record
    bool is_known = false;   // whether it has one
  };
  std::map<std::string, Last> last_failures_;  // of units
  double down_s_ = 0;
  int64_t while_down_ = 0;
  int64_t repeated_ = 0;
};

}  // namespace

bool is_unit_log(const TableHead& head) {
  return place_of(head, time_names) &&
         (place_of(head, cause_names) || place_of(head, end_names) || head.contains("unit"));
}

FailureRecord read_unit_log(const LogText& log, const FailureScope& scope) {
  return UnitLog(log, scope).take();
}

}  // namespace sgdsim
