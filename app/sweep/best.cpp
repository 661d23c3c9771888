// Comparing points as they come.
#include "app/sweep/best.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "app/table.h"
#include "app/tie.h"
#include "sim/core/error.h"

namespace sgdsim {
namespace {

constexpr double none = std::numeric_limits<double>::infinity();
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

// "wfbp = optimal"; of many equals only how many.
std::string winners_label(const std::string& first, const Json& tied, int64_t ties,
                          const std::string& axis) {
  constexpr int64_t most_named = 2;
  if (ties > most_named) return first + " = " + std::to_string(ties) + " others";
  std::string label = first;
  for (const Json& one : tied) label += " = " + value_label(one[axis]);
  return label;
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

Best::Best(const Sweep& sweep, std::string objective, std::vector<std::string> over)
    : objective_(std::move(objective)), over_(std::move(over)) {
  over_.erase(std::remove(over_.begin(), over_.end(), ""), over_.end());
  std::vector<std::string> known;
  for (const Axis& axis : sweep.axes) known.push_back(axis.field());
  const bool is_default = over_.empty();
  if (is_default) over_ = {"strategy"};
  for (const std::string& name : over_)
    if (std::find(known.begin(), known.end(), name) == known.end())
      throw InputError("--over",
                       is_default
                           ? "needed, because the sweep has no axis \"strategy\" (the default); "
                             "its axes: " +
                                 listed(known)
                           : unknown_name("axis", name, known));
  for (const std::string& name : known)
    if (std::find(over_.begin(), over_.end(), name) == over_.end()) others_.push_back(name);
}

void Best::add(DonePoint&& point) {
  Json fixed = Json::object();
  for (const std::string& name : others_) fixed[name] = point.axes[name];
  const auto [place, is_new] = group_of_.try_emplace(fixed.dump(), groups_.size());
  if (is_new) groups_.push_back({std::move(fixed), {}, none, {}, 0, none, 0, 0});
  Group& group = groups_[place->second];
  if (std::isnan(point.objective)) {
    ++group.failed;
    return;
  }
  ++group.points;
  Json chosen = Json::object();
  for (const std::string& name : over_) chosen[name] = point.axes[name];
  if (group.value < none && is_tie(point.objective, group.value)) {
    ++group.ties;
    if (group.tied.size() < most_tied) group.tied.push_back(std::move(chosen));
  } else if (point.objective < group.value) {
    group.next = group.value;
    group.value = point.objective;
    group.chosen = std::move(chosen);
    group.tied.clear();
    group.ties = 0;
  } else {
    group.next = std::min(group.next, point.objective);
  }
}

int64_t Best::groups_with_ties() const {
  return std::count_if(groups_.begin(), groups_.end(),
                       [](const Group& group) { return group.ties > 0; });
}

Json Best::json() const {
  Json json = {{"schema", "sgdsim/best/1"},
               {"objective", objective_},
               {"over", over_},
               {"groups", Json::array()}};
  for (const Group& group : groups_) {
    Json one = {{"axes", group.fixed}, {"points", group.points}, {"failed", group.failed}};
    if (group.points > 0) {
      one["best"] = group.chosen;
      one["value"] = group.value;
      if (group.ties > 0) {
        one["tied"] = group.tied;
        one["ties"] = group.ties;
      }
      if (group.next < none) one["next"] = group.next;
    }
    json["groups"].push_back(std::move(one));
  }
  return json;
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
  head.emplace_back("next is behind");
  Table table(head);
  int64_t points = 0;
  for (const Group& group : groups_) {
    std::vector<std::string> row;
    for (const auto& [name, value] : group.fixed.items()) row.push_back(value_label(value));
    points += group.points + group.failed;
    if (group.points == 0) {
      row.resize(head.size(), "-");
      table.add(std::move(row));
      continue;
    }
    for (const auto& [name, value] : group.chosen.items())
      row.push_back(over_.size() == 1
                        ? winners_label(value_label(value), group.tied, group.ties, name)
                        : value_label(value));
    if (over_.size() > 1 && group.ties > 0)
      row.back() += " (one of " + std::to_string(group.ties + 1) + ")";
    row.push_back(is_time ? short_duration(group.value, 5) : rounded(group.value, 5));
    row.push_back(group.next < none && group.value > 0
                      ? "+" + rounded(100 * (group.next / group.value - 1), 3) + " %"
                      : "-");
    table.add(std::move(row));
  }
  table.print(out, others_.size() + over_.size());
  out << "\nThe best of " << points << " points, in " << groups_.size() << " groups.\n";
  if (const int64_t ties = groups_with_ties(); ties > 0)
    out << ties << (ties == 1 ? " group has" : " groups have")
        << " several winners, equal to a millionth.\n";
}

}  // namespace sgdsim
