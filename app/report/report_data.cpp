// Files sorted into what the page has parts for.
#include "app/report/report_data.h"

#include <algorithm>
#include <filesystem>
#include <map>

#include "app/report/answer_rows.h"
#include "app/report/packing.h"
#include "app/report/page.h"
#include "app/report/reproduce.h"
#include "app/report/timeline_columns.h"
#include "app/version.h"
#include "sim/core/error.h"

namespace sgdsim {
namespace {

constexpr std::size_t most_B = 14'500'000;
constexpr std::size_t most_whole_results = 12;
constexpr char data_mark[] = "/* data */";

using Kind = AnswerFile::Kind;

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

Json table_json(const AnswerRows& rows, const std::string& kind, Json files,
                const std::vector<std::string>& left_out) {
  return {{"kind", kind},
          {"files", std::move(files)},
          {"rows", rows.columns.rows()},
          {"failed", rows.failed},
          {"notes", rows.notes},
          {"columns", rows.columns.json(left_out)},
          {"left_out", left_out}};
}

// The points of every sweep as a table, however many files they are in.
void add_point_tables(const ReportRequest& request, const std::vector<AnswerFile>& answers,
                      const std::vector<std::string>& left_out, Json& tables) {
  std::vector<std::string> sweeps;
  std::map<std::string, Gathered> points;
  std::map<std::string, Json> files;
  for (const AnswerFile& answer : answers) {
    if (answer.kind != Kind::points) continue;
    for (std::size_t i = 0; i < answer.values.size(); ++i) {
      const std::string sweep = answer.values[i]["sweep"];
      if (!points.contains(sweep)) sweeps.push_back(sweep);
      points[sweep].add(answer.values[i], answer.name + ":" + std::to_string(i + 1));
      Json& names = files[sweep];
      if (names.empty() || names.back() != answer.name) names.push_back(answer.name);
    }
  }
  std::vector<AskedSweep> asked;
  for (const AnswerFile& answer : answers)
    if (answer.kind == Kind::asked &&
        (answer.values.front().contains("base") || !request.axes.empty()))
      asked.push_back({answer.name, request.settings, request.axes});
  std::vector<bool> fits(asked.size(), sweeps.empty());
  for (const std::string& sweep : sweeps) {
    const AnswerRows rows = point_rows(std::move(points[sweep].values), points[sweep].where);
    Json table = table_json(rows, "points", files[sweep], left_out);
    table["of"] = rows.of;
    for (std::size_t i = 0; i < asked.size(); ++i)
      if (const auto commands = reproduction_of(rows, asked[i])) {
        table["commands"] = *commands;
        fits[i] = true;
      }
    tables.push_back(std::move(table));
  }
  for (std::size_t i = 0; i < asked.size(); ++i)
    if (!fits[i])
      throw InputError(asked[i].file,
                       "asks for other points than those of " +
                           files[sweeps.front()].front().get<std::string>() +
                           "; give --set and --axis as they were given to sgdsim sweep");
}

void add_results(const std::vector<AnswerFile>& answers, const std::vector<std::string>& left_out,
                 Json& data) {
  Gathered results;
  Json files = Json::array();
  for (const AnswerFile& answer : answers) {
    if (answer.kind != Kind::results) continue;
    files.push_back(answer.name);
    for (std::size_t i = 0; i < answer.values.size(); ++i)
      results.add(answer.values[i], place_of(answer, i));
  }
  if (results.values.size() > 1)
    data["tables"].push_back(table_json(result_rows(results.values, results.where), "results",
                                        std::move(files), left_out));
  if (results.values.size() > most_whole_results) return;
  for (std::size_t i = 0; i < results.values.size(); ++i)
    data["documents"].push_back({{"file", results.where[i]},
                                 {"schema", "sgdsim/result/1"},
                                 {"value", packed_text(for_page(results.values[i]))}});
}

std::string title_of(const ReportRequest& request) {
  if (!request.title.empty()) return request.title;
  const std::string& file = request.files.front();
  const std::string stem = std::filesystem::path(file).stem().string();
  return stem.empty() || file == "-" ? "sgdsim report" : stem;
}

}  // namespace

Json report_data(const ReportRequest& request, const std::vector<AnswerFile>& answers,
                 const std::vector<std::string>& left_out) {
  Json data = {
      {"title", title_of(request)}, {"command", request.command}, {"version", version_number},
      {"commit", version_commit},   {"tables", Json::array()},    {"documents", Json::array()},
      {"timelines", Json::array()}, {"asked", Json::array()},     {"notes", Json::array()}};
  add_point_tables(request, answers, left_out, data["tables"]);
  add_results(answers, left_out, data);
  for (const AnswerFile& answer : answers) {
    for (const std::string& note : answer.notes) data["notes"].push_back(answer.name + ": " + note);
    if (answer.kind == Kind::timeline)
      data["timelines"].push_back(timeline_columns(answer.values.front(), answer.name));
    if (answer.kind != Kind::document && answer.kind != Kind::asked) continue;
    if (answer.schema == "sgdsim/collective-sweep/1" && !answer.values.front()["points"].empty())
      data["tables"].push_back(table_json(collective_rows(answer.values.front()["points"]),
                                          "collectives", Json::array({answer.name}), left_out));
    else
      data[answer.kind == Kind::asked ? "asked" : "documents"].push_back(
          {{"file", answer.name},
           {"schema", answer.schema},
           {"value", packed_text(for_page(answer.values.front()))}});
  }
  return data;
}

std::string report_page(const ReportRequest& request) {
  const SchemaShelf shelf = embedded_shelf();
  std::vector<AnswerFile> answers;
  for (const std::string& file : request.files) answers.push_back(read_answer_file(file, shelf));
  if (std::all_of(answers.begin(), answers.end(),
                  [](const AnswerFile& answer) { return answer.kind == Kind::asked; }))
    throw InputError(answers.front().name,
                     "is a question; a report needs an answer to it, such as what sgdsim run "
                     "--out writes");
  const std::string page(embedded_pages().front().text);
  const std::size_t mark = page.find(data_mark);
  // From what is missed least: spread of iterations, short ids, parts of the breakdown.
  const std::vector<std::vector<std::string>> steps = {
      {},
      {".p50", ".p95", ".p99", ".max", ".n", "total_ps"},
      {"id", "messages", "wire_B", "path", "comm_total_us", "comm_overlapped_us"},
      {"idle_us", "waiting_us", "update_us", "compression_us", "speedup", "efficiency"},
  };
  std::vector<std::string> left_out;
  std::string text;
  for (const auto& step : steps) {
    left_out.insert(left_out.end(), step.begin(), step.end());
    text = script_text(report_data(request, answers, left_out));
    if (page.size() + text.size() <= most_B) break;
  }
  return page.substr(0, mark) + text + page.substr(mark + sizeof data_mark - 1);
}

}  // namespace sgdsim
