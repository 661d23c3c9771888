// Comparing points as they come.
#include "study/sweep/best.h"

#include <algorithm>
#include <cmath>

#include "sim/core/error.h"
#include "sim/core/fields.h"
#include "study/sweep/gains.h"
#include "study/sweep/step_samples.h"
#include "study/table.h"

namespace sgdsim {
namespace {

constexpr std::size_t most_tied = 16;  // that are named

std::string listed(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text;
}

// The last words of dotted names, as many as tell them apart.
std::vector<std::string> short_names(const std::vector<std::string>& names) {
  const auto last_words = [](const std::string& name, int count) {
    std::size_t dot = std::string::npos;
    for (; count > 0 && dot != 0; --count)
      dot = name.rfind('.', dot == std::string::npos ? dot : dot - 1);
    return dot == std::string::npos ? name : name.substr(dot + 1);
  };
  std::vector<std::string> shorts;
  for (const std::string& name : names)
    for (int words = 1;; ++words) {
      const std::string text = last_words(name, words);
      const auto alike = std::count_if(names.begin(), names.end(), [&](const std::string& other) {
        return other == text || other.ends_with("." + text);
      });
      if (alike > 1 && text != name) continue;
      shorts.push_back(text);
      break;
    }
  return shorts;
}

std::string amount(double value, bool is_time) {
  return is_time ? short_duration(value, 5) : rounded(value, 5);
}

std::string percent_of(double value, double best) {
  const double percent = 100 * (value / best - 1);
  return (percent < 0 ? "" : "+") + rounded(percent, 3) + " %";
}

}  // namespace

std::string value_label(const Json& value) {
  if (value.is_string()) return value.get<std::string>();
  // A strategy with fields of its own: name, then what is special about it.
  if (value.is_object() && value.contains("name")) {
    std::string text = value["name"].get<std::string>();
    for (const auto& [name, field] : value.items())
      if (name != "name") text += " " + name + "=" + value_label(field);
    return text;
  }
  return value.dump();
}

bool chooses_strategy(const Sweep& sweep, const std::string& axis) {
  const std::vector<std::string> fields = fields_of(sweep, axis);
  return std::any_of(fields.begin(), fields.end(), is_strategy_field);
}

Best::Best(const Sweep& sweep, std::string objective, std::vector<std::string> over)
    : objective_(std::move(objective)), sign_(as_cost(objective_, 1)), over_(std::move(over)) {
  over_.erase(std::remove(over_.begin(), over_.end(), ""), over_.end());
  std::vector<std::string> known;
  for (const Axis& axis : sweep.axes) known.push_back(axis.field());
  const bool is_default = over_.empty();
  if (is_default) over_ = {sweep.methods.empty() ? "strategy" : method_axis};
  std::vector<std::string> fields;
  for (const std::string& name : over_) {
    if (std::find(known.begin(), known.end(), name) == known.end())
      throw InputError("--over",
                       is_default
                           ? "needed, because the sweep has no axis \"strategy\" (the default); "
                             "its axes: " +
                                 listed(known)
                           : unknown_name("axis", name, known));
    for (const std::string& field : fields_of(sweep, name)) fields.push_back(field);
    chooses_strategy_ = chooses_strategy_ || chooses_strategy(sweep, name);
  }
  for (const std::string& name : known)
    if (std::find(over_.begin(), over_.end(), name) == over_.end()) others_.push_back(name);
  apart_ = apart_by(fields, objective_);
}

std::string Best::warning(const Sweep& sweep) const {
  return warn_of_samples(objective_, step_samples(sweep, over_));
}

void Best::add(DonePoint&& point) {
  Json fixed = Json::object();
  for (const std::string& name : others_) fixed[name] = point.axes[name];
  const auto [place, is_new] = group_of_.try_emplace(fixed.dump(), groups_.size());
  if (is_new) groups_.push_back({std::move(fixed), {}, {}, 0, 0, sign_});
  Group& group = groups_[place->second];
  if (std::isnan(point.objective)) {
    ++group.failed;
    return;
  }
  const double cost = sign_ * point.objective;
  Json chosen = Json::object();
  for (const std::string& name : over_) chosen[name] = point.axes[name];
  if (point.is_bound && chooses_strategy_) {
    if (!group.bound || cost < group.bound->value) group.bound = {std::move(chosen), cost};
    return;
  }
  ++group.points;
  group.contest.add(std::move(chosen), cost, apart_);
}

int64_t Best::groups_with_ties() const {
  return std::count_if(groups_.begin(), groups_.end(),
                       [](const Group& group) { return group.contest.ties() > 0; });
}

Fields fields_of(const Best::Group& group) {
  const bool has_best = group.points > 0;
  const auto& winners = group.contest.winners();
  const bool has_ties = has_best && group.contest.ties() > 0;
  std::optional<std::vector<Json>> tied;
  if (has_ties) tied.emplace();
  for (std::size_t i = 1; tied && i < std::min(winners.size(), most_tied + 1); ++i)
    tied->push_back(winners[i].choice);
  const auto if_is = [](bool is, const auto& value) {
    return is ? std::optional(value()) : std::nullopt;
  };
  return {
      Field("axes", group.fixed, "the values of the other axes").like(any_object_schema),
      {"points", group.points, "how many points were compared"},
      {"failed", group.failed, "how many have no result"},
      Field("best", if_is(has_best, [&] { return winners.front().choice; }),
            "the values of the chosen axes at the best point, which is the likeliest winner; never "
            "a bound")
          .like(any_object_schema),
      {"value", if_is(has_best, [&] { return group.figure(winners.front().value); }),
       "the best value of the objective, in its unit"},
      Field("tied", std::move(tied),
            "other values of the chosen axes that are as good, within error_percent or equal to a "
            "millionth, best first, at most 16 of them")
          .like([] { return list_schema(any_object_schema()); }),
      Field("ties", if_is(has_ties, [&] { return group.contest.ties(); }),
            "how many others there are")
          .at_least(1),
      {"next",
       if_is(has_best && group.contest.next() < no_value,
             [&] { return group.figure(group.contest.next()); }),
       "the best value that is not as good"},
      Field("bound", if_is(group.bound.has_value(), [&] { return group.bound->choice; }),
            "the values of the chosen axes at the best point of a strategy that no program "
            "simulates")
          .like(any_object_schema),
      {"bound_value",
       if_is(group.bound.has_value(), [&] { return group.figure(group.bound->value); }),
       "its objective"}};
}

namespace {

Fields best_fields(const std::string& objective, const std::vector<std::string>& over,
                   const std::vector<Best::Group>& groups, const Apart& apart) {
  return {answer_kind("sgdsim/best/1"),
          {"objective", objective,
           "the column that is to be small, or large where more of it is better"},
          Field("over", over, "the axes to choose from").filled("axis"),
          {"groups", groups, "one entry for every combination of the other axes"},
          {"error_percent", apart.percent(),
           "how far apart results have to be to tell: nine of ten measured ratios of this kind "
           "were within it; absent where nothing comparable was measured, and only equal results "
           "are as good"},
          Field("error_of", apart.of, "what was measured, or why nothing is known").if_any()};
}

}  // namespace

Json Best::json() const { return written(best_fields(objective_, over_, groups_, apart_)); }
Json schema_of_best() { return record_schema(best_fields({}, {}, {}, {})); }

std::vector<std::string> Best::row_of(const Group& group, bool is_time, bool has_bounds) const {
  std::vector<std::string> row;
  for (const auto& [name, value] : group.fixed.items()) row.push_back(value_label(value));
  if (group.points == 0) {
    row.resize(others_.size() + over_.size() + 3, "-");
    if (has_bounds)
      row.push_back(group.bound ? amount(group.figure(group.bound->value), is_time) : "-");
    return row;
  }
  const auto& best = group.contest.winners().front();
  const double next = group.contest.next();
  for (const auto& [name, value] : best.choice.items()) row.push_back(value_label(value));
  row.push_back(amount(group.figure(best.value), is_time));
  row.push_back(group.contest.ties() > 0 ? std::to_string(group.contest.ties()) : "-");
  row.push_back(next < no_value && best.value != 0 ? percent_of(next, best.value) : "-");
  if (has_bounds)
    row.push_back(group.bound && best.value != 0 ? percent_of(group.bound->value, best.value)
                                                 : "-");
  return row;
}

std::string Best::footer() const {
  int64_t points = 0;
  for (const Group& group : groups_) points += group.points + group.failed + (group.bound ? 1 : 0);
  std::string text =
      "\nThe best of " + std::to_string(points) + (points == 1 ? " point" : " points") + ", in " +
      std::to_string(groups_.size()) + (groups_.size() == 1 ? " group.\n" : " groups.\n");
  const int64_t ties = groups_with_ties();
  if (ties == 0) return text;
  text += std::to_string(ties) + (ties == 1 ? " group has" : " groups have") +
          " several winners: others are as good where they are ";
  if (apart_.error > 0)
    return text + "within " + error_text(apart_) +
           ", the error of such predictions. The one that is named is the likeliest.\n";
  return text + "equal to a millionth (" + apart_.of + ").\n";
}

void Best::print(std::ostream& out, bool as_json) const {
  if (as_json) {
    out << json().dump(1) << '\n';
    return;
  }
  std::vector<std::string> head = others_;
  head.insert(head.end(), over_.begin(), over_.end());
  const bool is_time = objective_.ends_with("_us");
  head.push_back(is_time ? objective_.substr(0, objective_.size() - 3) : objective_);
  head = short_names(head);
  head.insert(head.end(), {"others as good", "next is behind"});
  const bool has_bounds = std::any_of(groups_.begin(), groups_.end(),
                                      [](const Group& group) { return group.bound.has_value(); });
  if (has_bounds) head.emplace_back("bound");
  Table table(head);
  for (const Group& group : groups_) table.add(row_of(group, is_time, has_bounds));
  table.print(out, others_.size() + over_.size());
  out << footer();
}

}  // namespace sgdsim
