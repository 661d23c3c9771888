// Files sorted into what the page has parts for.
#include "app/report/report_data.h"

#include <algorithm>
#include <filesystem>
#include <set>

#include "app/report/answer_file.h"
#include "app/report/answer_rows.h"
#include "app/report/comparing.h"
#include "app/report/packing.h"
#include "app/report/page.h"
#include "app/report/reproduce.h"
#include "app/report/timeline_columns.h"
#include "sim/core/error.h"
#include "study/version.h"

namespace sgdsim {
namespace {

constexpr std::size_t most_report_B = 14'500'000;
constexpr std::size_t most_whole_results = 12;
constexpr std::size_t most_warnings = 10;
constexpr char data_mark[] = "/* data */";

using AnswerKind = AnswerFile::Kind;

// Values of all files of a kind, with where each stands.
struct Gathered {
  std::vector<Json> values;
  std::vector<std::string> where;

  void add(const Json& value, const std::string& place) {
    values.push_back(value);
    where.push_back(place);
  }
};

std::string place_of(const AnswerFile& answer, std::size_t index) {
  return answer.values.size() == 1 ? answer.name : answer.name + ":" + std::to_string(index + 1);
}

// A part of the page with rows: what they are, and what the page's data says of them besides.
struct ReportTable {
  std::string kind;
  AnswerRows rows;
  Json commands;  // null if none can be named
};

// The first of them, and how many more there are: a hundred thousand points may each have another.
Json warnings_json(const std::set<std::string>& warnings) {
  Json texts = Json::array();
  for (const std::string& warning : warnings)
    if (texts.size() < most_warnings) texts.push_back(warning);
  return {{"texts", texts}, {"more", warnings.size() - texts.size()}};
}

Json table_json(const ReportTable& table, const std::vector<std::string>& left_out) {
  Json json = {{"kind", table.kind},
               {"files", table.rows.files},
               {"rows", table.rows.columns.rows()},
               {"failed", table.rows.failed},
               {"notes", table.rows.notes},
               {"columns", table.rows.columns.json(left_out)},
               {"comparing", comparing(table.rows.columns)},
               {"left_out", left_out}};
  if (table.kind == "points") json["of"] = table.rows.of;
  if (!table.rows.warnings.empty()) json["warnings"] = warnings_json(table.rows.warnings);
  if (!table.commands.is_null()) json["commands"] = table.commands;
  return json;
}

// Why a file that was asked gives no points of these tables, and what helps.
[[noreturn]] void refuse_asked(const std::string& file, const std::vector<ReportTable>& tables) {
  const AnswerRows& rows = tables.front().rows;
  const std::vector<std::string> axes = rows.columns.keys(ReportColumns::Role::axis);
  const bool has_methods = std::find(axes.begin(), axes.end(), "method") != axes.end();
  throw InputError(
      file, "asks for other points than those of " + rows.files.front() +
                (has_methods ? "; those are of a sweep with --method, whose commands a report "
                               "cannot name: leave " +
                                   file + " out"
                             : "; give --set and --axis as they were given to sgdsim sweep"));
}

// Names the commands of the points that a file asks for. InputError if there are none.
void name_commands_by(const AnswerFile& asked, const ReportRequest& request,
                      std::vector<ReportTable>& tables) {
  bool fits = false;
  for (ReportTable& table : tables)
    if (const auto commands =
            reproduction_of(table.rows, {asked.name, request.settings, request.axes})) {
      table.commands = *commands;
      fits = true;
    }
  if (!fits) refuse_asked(asked.name, tables);
}

// Names the commands of points whose sweep was given, too. An experiment without axes has no
// points.
void name_commands(const ReportRequest& request, const std::vector<AnswerFile>& answers,
                   std::vector<ReportTable>& tables) {
  bool is_asked = false;
  if (!tables.empty())
    for (const AnswerFile& answer : answers) {
      if (answer.kind != AnswerKind::asked) continue;
      if (!answer.values.front().contains("base") && request.axes.empty()) continue;
      name_commands_by(answer, request, tables);
      is_asked = true;
    }
  if (is_asked || (request.axes.empty() && request.settings.empty())) return;
  throw InputError(request.axes.empty() ? "--set" : "--axis",
                   "--axis and --set go with the experiment or sweep file that the points are of");
}

Gathered results_in(const std::vector<AnswerFile>& answers) {
  Gathered results;
  for (const AnswerFile& answer : answers)
    if (answer.kind == AnswerKind::results)
      for (std::size_t i = 0; i < answer.values.size(); ++i)
        results.add(answer.values[i], place_of(answer, i));
  return results;
}

std::vector<ReportTable> tables_of(const ReportRequest& request, PointTables& points,
                                   const std::vector<AnswerFile>& answers,
                                   const Gathered& results) {
  std::vector<ReportTable> tables;
  for (AnswerRows& rows : points.finish())
    tables.push_back({.kind = "points", .rows = std::move(rows), .commands = {}});
  name_commands(request, answers, tables);
  if (results.values.size() > 1) {
    tables.push_back({"results", result_rows(results.values, results.where), {}});
    for (const AnswerFile& answer : answers)
      if (answer.kind == AnswerKind::results) tables.back().rows.files.push_back(answer.name);
  }
  for (const AnswerFile& answer : answers) {
    if (answer.kind != AnswerKind::axis_points) continue;
    if (answer.schema == "sgdsim/goodput-point/1")
      tables.push_back({"goodputs", goodput_rows(answer.values), {}});
    else if (answer.schema == "sgdsim/learn-point/1")
      tables.push_back({"lessons", learn_rows(answer.values), {}});
    else
      tables.push_back({"layouts", layout_rows(answer.values), {}});
    tables.back().rows.files.push_back(answer.name);
  }
  for (const AnswerFile& answer : answers) {
    if (answer.schema != "sgdsim/collective-sweep/1") continue;
    if (answer.values.front()["points"].empty()) continue;
    tables.push_back({"collectives", collective_rows(answer.values.front()["points"]), {}});
    tables.back().rows.files.push_back(answer.name);
  }
  return tables;
}

Json answer_json(const std::string& file, const std::string& schema, const Json& value) {
  Json answer = {{"file", file}, {"schema", schema}, {"value", packed_text(for_page(value))}};
  if (has_large_wholes(value)) answer["large_wholes"] = true;
  return answer;
}

std::string title_of(const ReportRequest& request) {
  if (!request.title.empty()) return request.title;
  const std::string& file = request.files.front();
  const std::string stem = std::filesystem::path(file).stem().string();
  return stem.empty() || file == "-" ? "sgdsim report" : stem;
}

// All but the tables.
Json data_besides_tables(const ReportRequest& request, const std::vector<AnswerFile>& answers,
                         const Gathered& results) {
  Json data = {{"title", title_of(request)}, {"command", request.command},
               {"version", version_number},  {"commit", version_commit},
               {"documents", Json::array()}, {"timelines", Json::array()},
               {"asked", Json::array()},     {"notes", Json::array()}};
  if (results.values.size() <= most_whole_results)
    for (std::size_t i = 0; i < results.values.size(); ++i)
      data["documents"].push_back(
          answer_json(results.where[i], "sgdsim/result/1", results.values[i]));
  for (const AnswerFile& answer : answers) {
    for (const std::string& note : answer.notes) data["notes"].push_back(answer.name + ": " + note);
    if (answer.kind == AnswerKind::timeline)
      data["timelines"].push_back(timeline_columns(answer.values.front(), answer.name));
    if (answer.kind == AnswerKind::asked)
      data["asked"].push_back(answer_json(answer.name, answer.schema, answer.values.front()));
    if (answer.kind == AnswerKind::document && answer.schema != "sgdsim/collective-sweep/1")
      data["documents"].push_back(answer_json(answer.name, answer.schema, answer.values.front()));
  }
  return data;
}

// From what is missed least: spread of iterations, short ids, parts of the breakdown.
const std::vector<std::vector<std::string>>& columns_to_leave_out() {
  static const std::vector<std::vector<std::string>> steps = {
      {},
      {".p50", ".p95", ".p99", ".max", ".n", "total_ps"},
      {"id", "messages", "wire_B", "path", "comm_total_us", "comm_overlapped_us"},
      {"idle_us", "waiting_us", "update_us", "compression_us", "speedup", "efficiency"},
  };
  return steps;
}

}  // namespace

std::string report_page(const ReportRequest& request, std::vector<std::string>* notes) {
  const SchemaShelf shelf = embedded_shelf();
  PointTables points;
  std::vector<AnswerFile> answers;
  for (const std::string& file : request.files)
    answers.push_back(read_answer_file(
        file, shelf, [&](const Json& point, const std::string& name, int64_t line) {
          points.add(point, name, line);
        }));
  if (std::all_of(answers.begin(), answers.end(),
                  [](const AnswerFile& answer) { return answer.kind == AnswerKind::asked; }))
    throw InputError(answers.front().name,
                     "is a question; a report needs an answer to it, such as what sgdsim run "
                     "--out writes");
  const Gathered results = results_in(answers);
  const std::vector<ReportTable> tables = tables_of(request, points, answers, results);
  Json data = data_besides_tables(request, answers, results);
  if (notes != nullptr) *notes = data["notes"].get<std::vector<std::string>>();
  const std::string page(embedded_pages().front().text);
  const std::size_t mark = page.find(data_mark);
  std::vector<std::string> left_out;
  std::string text;
  for (const auto& step : columns_to_leave_out()) {
    left_out.insert(left_out.end(), step.begin(), step.end());
    data["tables"] = Json::array();
    for (const ReportTable& table : tables) data["tables"].push_back(table_json(table, left_out));
    text = script_text(data);
    if (page.size() + text.size() <= most_report_B) break;
  }
  return page.substr(0, mark) + text + page.substr(mark + sizeof data_mark - 1);
}

}  // namespace sgdsim
