// A grid, bisection, and a walk along what is known.
#include "study/need/crossing.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "sim/core/error.h"

namespace sgdsim {
namespace {

constexpr int most_tries = 2048;  // in place of a whole number without an answer
constexpr double knee_near_enough = 1.01;

class AskedValues {
 public:
  AskedValues(const FieldRange& range, const Goal& goal, const AskAt& ask)
      : range_(range), goal_(goal), ask_(ask) {}

  NeedPoint& at(const Json& value) {
    const double position = FieldRange::at(value);
    const auto known = known_.find(position);
    if (known != known_.end()) return known->second;
    NeedPoint point = ask_(value);
    // Ends with a point, or as 1e2, ask for what lies between whole numbers, too.
    if (range_.is_fractional() && point.error.find("expected a whole number") != std::string::npos)
      throw InputError(
          "--axis " + range_.field(),
          "takes whole numbers: write both ends as such, as in " + range_.field() + "=2..64");
    point.value = value;
    point.meets = point.reached && goal_.is_met_by(*point.reached);
    return known_.emplace(position, std::move(point)).first->second;
  }

  // In place of a whole number without an answer one that has one, between two bounds, neither of
  // them included; null: none was found. Multiples of large powers of two are tried first, because
  // sizes divide. Of other values the value itself, whatever its answer.
  NeedPoint* near(const Json& value, double low, double high) {
    NeedPoint& own = at(value);
    if (own.reached || !range_.is_whole() || range_.is_listed()) return &own;
    const double middle = FieldRange::at(value);
    if (range_.is_stepped()) return near_step(middle, low, high);
    int tries = 0;
    for (double step = std::exp2(std::floor(std::log2(high - low))); step >= 1; step /= 2) {
      const double nearest = std::round(middle / step) * step;
      for (int away = 0; away * step < high - low; ++away)
        for (const double position : {nearest + away * step, nearest - away * step}) {
          if (position <= low || position >= high) continue;
          if (++tries > most_tries) return nullptr;
          NeedPoint& other = at(range_.value(position));
          if (other.reached) return &other;
        }
    }
    return nullptr;
  }

  NeedPoint* near_step(double middle, double low, double high) {
    std::vector<Json> steps = range_.steps_between(low, high);
    const auto away = [middle](const Json& step) {
      return std::abs(FieldRange::at(step) - middle);
    };
    std::stable_sort(steps.begin(), steps.end(),
                     [&](const Json& a, const Json& b) { return away(a) < away(b); });
    for (const Json& step : steps)
      if (NeedPoint& point = at(step); point.reached) return &point;
    return nullptr;
  }

  // What counts: all that have an answer, and of quantities those that have none. Of whole numbers,
  // and in lists, values without an answer count before the first and behind the last that have
  // one: between them sizes do not divide. 0 without an answer is no number of its range.
  std::vector<NeedPoint> row() const {
    const bool all = !range_.is_whole() && !range_.is_listed();
    std::vector<NeedPoint> points;
    std::vector<NeedPoint> without;  // an answer, since the last one that has one
    bool answered = false;
    for (const auto& [position, point] : known_) {
      if (!point.reached && (!point.is_shown || is_open_end(position))) continue;
      if (!point.reached && !all && answered) {
        without.push_back(point);
        continue;
      }
      if (point.reached) without.clear();
      answered = answered || point.reached.has_value();
      points.push_back(point);
    }
    points.insert(points.end(), without.begin(), without.end());
    return points;
  }

  void show(const std::optional<NeedPoint>& point) {
    if (point) at(point->value).is_shown = true;
  }

  // Until the two are neighbours, or as good as. Where no value between them has an answer, the
  // middle does not meet the target.
  void bisect(double low, double high, bool low_meets) {
    while (const auto middle = range_.between(low, high)) {
      NeedPoint* point = near(*middle, low, high);
      if (point == nullptr && (range_.is_stepped() || 2 * (high - low) <= most_tries)) return;
      if (point == nullptr) point = &at(*middle);
      (point->meets == low_meets ? low : high) = FieldRange::at(point->value);
    }
  }

  const FieldRange& range() const { return range_; }
  const Goal& goal() const { return goal_; }

 private:
  // Many a number may be as small as one likes, and not 0.
  bool is_open_end(double position) const { return range_.is_fractional() && position == 0; }

  const FieldRange& range_;
  const Goal& goal_;
  const AskAt& ask_;
  std::map<double, NeedPoint> known_;
};

// A value that stands for another one lies between the neighbours of that.
void ask_grid(AskedValues& asked) {
  const FieldRange& range = asked.range();
  const std::vector<Json> grid = range.grid();
  for (std::size_t i = 0; i < grid.size(); ++i) {
    const double low = i > 0 ? FieldRange::at(grid[i - 1]) : range.low() - 1;
    const double high = i + 1 < grid.size() ? FieldRange::at(grid[i + 1]) : range.high() + 1;
    NeedPoint* point = asked.near(grid[i], low, high);
    (point != nullptr ? *point : asked.at(grid[i])).is_shown = true;
  }
}

void bisect_changes(AskedValues& asked) {
  const std::vector<NeedPoint> row = asked.row();
  for (std::size_t i = 1; i < row.size(); ++i)
    if (row[i].meets != row[i - 1].meets)
      asked.bisect(FieldRange::at(row[i - 1].value), FieldRange::at(row[i].value),
                   row[i - 1].meets);
}

void walk(const std::vector<NeedPoint>& row, const Goal& goal, NeedFound& found) {
  const NeedPoint* last = nullptr;
  for (const NeedPoint& point : row) {
    if (point.reached && (!found.best || goal.is_better(*point.reached, *found.best->reached)))
      found.best = point;
    if (point.meets && (last == nullptr || !last->meets))
      found.met.push_back({point, point});
    else if (point.meets)
      found.met.back().to = point;
    last = &point;
  }
  if (found.met.empty()) return;
  const NeedStretch& first = found.met.front();
  const bool from_low = row.front().meets;
  found.is_everywhere = from_low && first.to.value == row.back().value;
  if (found.is_everywhere) return;
  found.is_largest = from_low;
  found.needed = from_low ? first.to : first.from;
  for (std::size_t i = 0; i < row.size(); ++i)
    if (row[i].value == found.needed->value) found.before = row[from_low ? i + 1 : i - 1];
}

// Steps near the one that was found: sizes that divide well reach more than others do.
void look_around(AskedValues& asked) {
  if (!asked.range().is_stepped()) return;
  constexpr double far = 0.7;
  for (double before = -1;;) {
    NeedFound found;
    walk(asked.row(), asked.goal(), found);
    if (!found.needed) return;
    const double at = FieldRange::at(found.needed->value);
    if (at == before) return;
    before = at;
    const double low = found.is_largest ? at : far * at;
    const double high = found.is_largest ? at / far : at;
    for (const Json& step : asked.range().steps_between(low, high)) asked.at(step);
  }
}

// ---- the knee

class KneeSearch {
 public:
  KneeSearch(AskedValues& asked, double gain, bool is_halving)
      : asked_(asked), gain_(gain), is_halving_(is_halving) {}

  std::optional<NeedKnee> find() { return asked_.range().is_listed() ? among_listed() : along(); }

 private:
  double next(double position) const { return is_halving_ ? position / 2 : position * 2; }

  // Nothing where one of the two is no value of the range, or has no answer.
  std::optional<NeedKnee> at(const Json& value) {
    const FieldRange& range = asked_.range();
    const double other = next(FieldRange::at(value));
    constexpr double slack = 1e-9;
    if (other > range.high() * (1 + slack) || other < range.least() * (1 - slack)) return {};
    const Json there = range.value(other);
    if (std::abs(FieldRange::at(there) - other) > 1e-4 * other) return {};
    const NeedPoint from = asked_.at(value);
    const NeedPoint to = asked_.at(there);
    if (!from.reached || !to.reached) return {};
    const bool at_most = asked_.goal().at_most;
    if (*from.reached <= 0)  // of a time nothing is left to gain
      return at_most ? std::optional(NeedKnee{from, 0, is_halving_, true}) : std::nullopt;
    const double ratio = *to.reached / *from.reached;
    return NeedKnee{from, at_most ? 1 - ratio : ratio - 1, is_halving_, true};
  }

  std::optional<NeedKnee> among_listed() {
    std::vector<Json> values = asked_.range().grid();
    if (is_halving_) std::reverse(values.begin(), values.end());
    std::vector<NeedKnee> steps;
    for (const Json& value : values) {
      const double other = next(FieldRange::at(value));
      if (std::none_of(values.begin(), values.end(), [&](const Json& one) {
            return std::abs(FieldRange::at(one) - other) <= 1e-9 * other;
          }))
        continue;
      if (const auto here = at(value)) steps.push_back(*here);
    }
    const auto [more, less] = last_change(steps);
    return less ? less : more;
  }

  // From where the figure is known on; 0 if it is nowhere.
  double first_answered() {
    std::vector<NeedPoint> points = asked_.row();
    if (is_halving_) std::reverse(points.begin(), points.end());
    for (const NeedPoint& point : points)
      if (FieldRange::at(point.value) > 0 && point.reached) return FieldRange::at(point.value);
    return 0;
  }

  // By doublings, and then between two of them.
  std::optional<NeedKnee> along() {
    const FieldRange& range = asked_.range();
    double position = first_answered();
    std::vector<NeedKnee> steps;
    for (; position > 0; position = next(position)) {
      const auto here = at(range.value(position));
      if (!here) break;
      steps.push_back(*here);
    }
    const auto [more, less] = last_change(steps);
    return more && less ? refined(*more, *less) : less ? less : more;
  }

  // The last step that gains enough, and the one behind it: a curve may fall before it rises.
  std::pair<std::optional<NeedKnee>, std::optional<NeedKnee>> last_change(
      const std::vector<NeedKnee>& steps) const {
    std::optional<NeedKnee> more, less;
    for (const NeedKnee& step : steps) {
      if (step.gain >= gain_) {
        more = step;
        more->is_within = false;
        less.reset();
      } else if (!less) {
        less = step;
      }
    }
    return {more, less};
  }

  // `more` gains enough, `less` does not.
  NeedKnee refined(NeedKnee more, NeedKnee less) {
    for (;;) {
      const double a = FieldRange::at(more.point.value);
      const double b = FieldRange::at(less.point.value);
      if (std::max(a, b) <= knee_near_enough * std::min(a, b)) return less;
      const auto middle = asked_.range().between(std::min(a, b), std::max(a, b));
      const auto here = middle ? at(*middle) : std::nullopt;
      if (!here) return less;
      (here->gain < gain_ ? less : more) = *here;
    }
  }

  AskedValues& asked_;
  double gain_;
  bool is_halving_;
};

std::optional<NeedKnee> knee_of(AskedValues& asked, double gain) {
  const NeedPoint* first = nullptr;
  const NeedPoint* last = nullptr;
  const std::vector<NeedPoint> row = asked.row();
  for (const NeedPoint& point : row) {
    if (!point.reached) continue;
    if (first == nullptr) first = &point;
    last = &point;
  }
  if (first == last) return {};
  return KneeSearch(asked, gain, asked.goal().is_better(*first->reached, *last->reached)).find();
}

}  // namespace

NeedFound look_for(const FieldRange& range, const Goal& goal, double gain, const AskAt& ask) {
  AskedValues asked(range, goal, ask);
  ask_grid(asked);
  bisect_changes(asked);
  look_around(asked);
  NeedFound found;
  if (gain > 0) {
    found.knee = knee_of(asked, gain);
    bisect_changes(asked);  // which what was asked for the knee may have shown
  }
  walk(asked.row(), goal, found);
  asked.show(found.needed);
  asked.show(found.before);
  if (found.knee) asked.show(found.knee->point);
  found.points = asked.row();
  return found;
}

}  // namespace sgdsim
