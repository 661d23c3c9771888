// What becomes an axis, what a figure, what a note.
#include "app/report/answer_rows.h"

#include <algorithm>
#include <numeric>
#include <set>

#include "sim/core/error.h"

namespace sgdsim {
namespace {

using Role = ReportColumns::Role;

constexpr std::size_t most_axes = 12;
constexpr std::size_t longest_shown_list = 80;
constexpr std::size_t shown_id = 12;  // digits: enough to compare by eye

std::string joined(const Json& texts) {
  std::string text;
  for (const Json& one : texts) text += (text.empty() ? "" : "; ") + one.get<std::string>();
  return text;
}

// Numbers become figures, texts notes, objects the same of their members; lists are left out.
void set_members(ReportColumns& columns, std::size_t row, const Json& object,
                 const std::string& before, const std::set<std::string>& without) {
  for (const auto& [name, member] : object.items()) {
    if (without.contains(before + name)) continue;
    const std::string key = before + name;
    if (member.is_object())
      set_members(columns, row, member, key + ".", without);
    else if (member.is_number())
      columns.set(Role::figure, key, row, member);
    else if (member.is_string() || member.is_boolean())
      columns.set(Role::note, key, row, member);
  }
}

void set_warnings(AnswerRows& rows, std::size_t row, const Json& answer) {
  const auto warnings = answer.find("warnings");
  if (warnings == answer.end() || warnings->empty()) return;
  rows.columns.set(Role::note, "warnings", row, joined(*warnings));
  for (const Json& warning : *warnings) rows.warnings.insert(warning.get<std::string>());
}

void set_outcome(AnswerRows& rows, std::size_t row, const Json& answer) {
  set_members(rows.columns, row, answer, "",
              {"schema", "sweep", "of", "axes", "id", "inputs", "critical", "tool", "name"});
  const bool has_id = answer.contains("id") && answer["id"].is_string();
  const std::string id = has_id ? answer["id"].get<std::string>() : "";
  const std::size_t digits = id.starts_with("sha256:") ? 7 : 0;
  rows.columns.set(Role::note, "id", row, id.substr(digits, shown_id));
  set_warnings(rows, row, answer);
  const bool is_failed = answer.contains("error") || answer.contains("why_not");
  rows.failed += is_failed ? 1 : 0;
  if (is_failed || !answer.contains("axes")) return;
  rows.last = {{"id", id}, {"axes", answer["axes"]}};
  if (rows.first.is_null()) rows.first = rows.last;
}

// The fields of an experiment by path; lists stand for themselves where they are short. Of a trace
// only its name tells, and of a cluster that has another name.
void fields_of(const Json& object, const std::string& before, std::map<std::string, Json>& fields) {
  for (const auto& [name, member] : object.items()) {
    const std::string key = before + name;
    if (key == "schema" || key == "name" || key == "description") continue;
    if (before == "trace." && name != "name") continue;
    if (member.is_object())
      fields_of(member, key + ".", fields);
    else if (!member.is_structured() || member.dump().size() <= longest_shown_list)
      fields[key] = member;
  }
}

std::vector<std::string> differing_fields(const std::vector<std::map<std::string, Json>>& all) {
  std::set<std::string> keys;
  for (const auto& fields : all)
    for (const auto& [key, value] : fields) keys.insert(key);
  auto differs = [&](const std::string& key) {
    const auto first = all.front().find(key);
    return std::any_of(all.begin(), all.end(), [&](const auto& fields) {
      const auto found = fields.find(key);
      return (found == fields.end()) != (first == all.front().end()) ||
             (found != fields.end() && found->second != first->second);
    });
  };
  const bool other_clusters = keys.contains("cluster.name") && differs("cluster.name");
  std::vector<std::string> found;
  for (const std::string& key : keys) {
    const bool is_detail =
        key.starts_with("cluster.") && key != "cluster.name" && key != "cluster.nodes";
    if ((other_clusters && is_detail) || !differs(key)) continue;
    if (found.size() < most_axes) found.push_back(key);
  }
  return found;
}

// Points along axes: `shown` is what of an answer is a row, or nothing.
template <class Shown>
AnswerRows axis_rows(const std::vector<Json>& lines, const char* what, const Shown& shown) {
  AnswerRows rows;
  for (std::size_t row = 0; row < lines.size(); ++row) {
    const Json& line = lines[row];
    for (const auto& [field, value] : line["axes"].items())
      rows.columns.set(Role::axis, field, row, value);
    const Json* answer = line.contains("answer") ? shown(line["answer"]) : nullptr;
    rows.failed += answer == nullptr ? 1 : 0;
    set_members(rows.columns, row, answer == nullptr ? line : *answer, "",
                {"schema", "axes", "answer", "name", "question"});
    if (answer != nullptr) set_warnings(rows, row, line["answer"]);
  }
  if (rows.failed > 0)
    rows.notes.push_back(std::to_string(rows.failed) + " points have no " + what);
  return rows;
}

}  // namespace

void PointTables::add(const Json& point, const std::string& file, int64_t line) {
  const std::string sweep = point["sweep"];
  auto found = std::find_if(sweeps_.begin(), sweeps_.end(),
                            [&](const Sweep& one) { return one.rows.sweep == sweep; });
  if (found == sweeps_.end()) {
    found = sweeps_.emplace(sweeps_.end());
    found->rows.sweep = sweep;
    found->rows.of = point["of"];
  }
  AnswerRows& rows = found->rows;
  const auto number = point["point"].get<int64_t>();
  if (point["of"] != rows.of || number >= rows.of)
    throw InputError(file + ":" + std::to_string(line),
                     "point " + point["point"].dump() + " of " + point["of"].dump() +
                         " is none of a sweep of " + std::to_string(rows.of) + " points");
  if (rows.files.empty() || rows.files.back() != file) rows.files.push_back(file);
  const std::size_t row = found->points.size();
  found->points.push_back(number);
  for (const auto& [field, value] : point["axes"].items())
    rows.columns.set(Role::axis, field, row, value);
  set_outcome(rows, row, point);
}

std::vector<AnswerRows> PointTables::finish() {
  std::vector<AnswerRows> tables;
  for (Sweep& sweep : sweeps_) {
    const std::vector<int64_t>& points = sweep.points;
    std::vector<std::size_t> order(points.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return points[a] < points[b]; });
    AnswerRows& rows = sweep.rows;
    for (std::size_t i = 1; i < order.size(); ++i)
      if (points[order[i]] == points[order[i - 1]])
        throw InputError(rows.files.back(),
                         "point " + std::to_string(points[order[i]]) + " occurs twice");
    if (!std::is_sorted(points.begin(), points.end())) rows.columns.reorder(order);
    const int64_t missing = rows.of - static_cast<int64_t>(points.size());
    if (missing > 0)
      rows.notes.push_back(std::to_string(missing) + " of " + std::to_string(rows.of) +
                           " points of the sweep are missing");
    if (rows.failed > 0)
      rows.notes.push_back(std::to_string(rows.failed) + " points have no result");
    tables.push_back(std::move(rows));
  }
  return tables;
}

AnswerRows result_rows(const std::vector<Json>& results, const std::vector<std::string>& where) {
  AnswerRows rows;
  std::vector<std::map<std::string, Json>> fields(results.size());
  for (std::size_t row = 0; row < results.size(); ++row)
    fields_of(results[row]["inputs"], "", fields[row]);
  const std::vector<std::string> axes = differing_fields(fields);
  for (std::size_t row = 0; row < results.size(); ++row) {
    for (const std::string& axis : axes)
      if (const auto found = fields[row].find(axis); found != fields[row].end())
        rows.columns.set(Role::axis, axis, row, found->second);
      else
        rows.columns.set(Role::axis, axis, row, nullptr);
    set_outcome(rows, row, results[row]);
    rows.columns.set(Role::note, "file", row, where[row]);
  }
  if (!rows.columns.axes_tell_rows_apart())
    for (std::size_t row = 0; row < results.size(); ++row)
      rows.columns.set(Role::axis, "result", row, where[row]);
  return rows;
}

AnswerRows layout_rows(const std::vector<Json>& lines) {
  return axis_rows(lines, "layout", [](const Json& answer) -> const Json* {
    return answer["layouts"].empty() ? nullptr : &answer["layouts"].front();
  });
}

AnswerRows goodput_rows(const std::vector<Json>& lines) {
  return axis_rows(lines, "answer", [](const Json& answer) { return &answer; });
}

AnswerRows learn_rows(const std::vector<Json>& lines) {
  AnswerRows rows;
  std::size_t row = 0;
  for (const Json& line : lines) {
    const Json methods = line.contains("answer") ? line["answer"]["methods"] : Json::object();
    rows.failed += methods.empty() ? 1 : 0;
    for (const auto& [method, learned] : methods.items()) {
      for (const auto& [field, value] : line["axes"].items())
        rows.columns.set(Role::axis, field, row, value);
      rows.columns.set(Role::axis, "method", row, method);
      set_members(rows.columns, row, learned, "", {"ladder", "log_hash", "absent"});
      set_warnings(rows, row++, learned);
    }
  }
  if (rows.failed > 0) rows.notes.push_back(std::to_string(rows.failed) + " points have no answer");
  return rows;
}

AnswerRows collective_rows(const Json& points) {
  AnswerRows rows;
  for (std::size_t row = 0; row < points.size(); ++row) {
    Json outcome = points[row];
    for (const char* axis : {"algorithm", "size_B", "ranks"}) {
      rows.columns.set(Role::axis, axis, row, outcome.value(axis, Json()));
      outcome.erase(axis);
    }
    set_outcome(rows, row, outcome);
  }
  return rows;
}

}  // namespace sgdsim
