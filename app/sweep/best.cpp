// Comparing points as they come.
#include "app/sweep/best.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "app/table.h"
#include "sim/core/error.h"

namespace sgdsim {
namespace {

constexpr double none = std::numeric_limits<double>::infinity();

std::string listed(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text;
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
  if (is_new) groups_.push_back({std::move(fixed), {}, none, none, 0, 0});
  Group& group = groups_[place->second];
  if (std::isnan(point.objective)) {
    ++group.failed;
    return;
  }
  ++group.points;
  if (point.objective < group.value) {
    group.next = group.value;
    group.value = point.objective;
    group.chosen = Json::object();
    for (const std::string& name : over_) group.chosen[name] = point.axes[name];
  } else if (point.objective > group.value) {
    group.next = std::min(group.next, point.objective);
  }
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
    for (const auto& [name, value] : group.chosen.items()) row.push_back(value_label(value));
    row.push_back(is_time ? short_duration(group.value, 5) : rounded(group.value, 5));
    row.push_back(group.next < none && group.value > 0
                      ? "+" + rounded(100 * (group.next / group.value - 1), 3) + " %"
                      : "-");
    table.add(std::move(row));
  }
  table.print(out, others_.size() + over_.size());
  out << "\nThe best of " << points << " points, in " << groups_.size() << " groups.\n";
}

}  // namespace sgdsim
