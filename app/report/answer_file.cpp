// Telling files apart, and refusing what is none of them.
#include "app/report/answer_file.h"

#include <algorithm>
#include <array>

#include "app/step/timeline_json.h"
#include "sim/core/error.h"

namespace sgdsim {
namespace {

constexpr char expected[] =
    "expected what sgdsim run, sweep, plan, tune, collective, fit, validate, advise or layout "
    "writes as JSON, a timeline, or the experiment or sweep that was asked";

struct ShownSchema {
  const char* id;
  AnswerFile::Kind kind;
};

constexpr auto shown = std::to_array<ShownSchema>({
    {"sgdsim/result/1", AnswerFile::Kind::results},
    {"sgdsim/point/1", AnswerFile::Kind::points},
    {"sgdsim/plan/1", AnswerFile::Kind::document},
    {"sgdsim/best/1", AnswerFile::Kind::document},
    {"sgdsim/tune/1", AnswerFile::Kind::document},
    {"sgdsim/validation/1", AnswerFile::Kind::document},
    {"sgdsim/fit/1", AnswerFile::Kind::document},
    {"sgdsim/advice/1", AnswerFile::Kind::document},
    {"sgdsim/layouts/1", AnswerFile::Kind::document},
    {"sgdsim/collective/1", AnswerFile::Kind::document},
    {"sgdsim/collective-sweep/1", AnswerFile::Kind::document},
    {"sgdsim/experiment/1", AnswerFile::Kind::asked},
    {"sgdsim/sweep/1", AnswerFile::Kind::asked},
});

std::string_view without_blanks(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r\n") + 1 - first);
}

// Of a whole file that is one value: the error names line and column.
Json parse_whole(const std::string& text, const std::string& file) {
  if (!check_text(text, file)) Document::parse(text, file);
  return Json::parse(text);
}

const ShownSchema& schema_of(const Json& value, const std::string& where) {
  if (!value.is_object() || !value.contains("schema") || !value["schema"].is_string())
    throw InputError(where, std::string("there is no field \"schema\"; ") + expected);
  const std::string schema = value["schema"];
  const auto* found = std::find_if(shown.begin(), shown.end(),
                                   [&](const ShownSchema& one) { return schema == one.id; });
  if (found == shown.end())
    throw InputError(where, "a report cannot show \"" + schema.substr(0, 60) + "\"; " + expected);
  return *found;
}

void check_fits(const SchemaShelf& shelf, const std::string& id, const Json& value,
                const std::string& where) {
  const std::vector<std::string> faults = faults_of_value(shelf, id, value);
  if (!faults.empty())
    throw InputError(where, "does not fit `sgdsim schema`: " + faults.front().substr(0, 300));
}

// A line of a sweep can be the last one and have no end: what a killed process leaves.
void read_lines(AnswerFile& answer, std::string_view text, const SchemaShelf& shelf) {
  int64_t number = 0;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    const std::string_view line = without_blanks(text.substr(0, end));
    const bool is_torn = end == std::string_view::npos;
    text = is_torn ? std::string_view() : text.substr(end + 1);
    const std::string where = answer.name + ":" + std::to_string(++number);
    if (line.empty()) continue;
    if (!check_text(line, where)) {
      if (!is_torn || answer.values.empty())
        throw InputError(where,
                         "expected a JSON object per line, got " + std::string(line.substr(0, 60)));
      answer.notes.push_back("line " + std::to_string(number) +
                             " is cut off: what wrote it was interrupted");
      return;
    }
    Json value = Json::parse(line);
    const ShownSchema& schema = schema_of(value, where);
    if (schema.id != answer.schema)
      throw InputError(where, "expected " + answer.schema + " as in the lines before, got " +
                                  std::string(schema.id));
    check_fits(shelf, schema.id, value, where);
    answer.values.push_back(std::move(value));
  }
}

bool is_asked_without_schema(const Json& value) {
  return value.is_object() && !value.contains("schema") &&
         (value.contains("base") || (value.contains("trace") && value.contains("cluster")));
}

}  // namespace

AnswerFile read_answer_file(const std::string& file, const SchemaShelf& shelf) {
  AnswerFile answer;
  answer.name = file;
  const std::string text = read_text(file);
  const std::string_view trimmed = without_blanks(text);
  if (trimmed.empty()) throw InputError(file, std::string("is empty; ") + expected);
  if (text.starts_with(timeline_beginning)) {
    answer.kind = AnswerFile::Kind::timeline;
    answer.values.push_back(parse_whole(text, file));
    return answer;
  }
  const std::string_view first = without_blanks(trimmed.substr(0, trimmed.find('\n')));
  const bool is_lines = first.size() < trimmed.size() && check_text(first, file + ":1");
  Json front = is_lines ? Json::parse(first) : parse_whole(text, file);
  if (is_asked_without_schema(front)) {
    answer.kind = AnswerFile::Kind::asked;
    answer.values.push_back(std::move(front));
    return answer;
  }
  const ShownSchema& schema = schema_of(front, is_lines ? file + ":1" : file);
  answer.schema = schema.id;
  answer.kind = schema.kind;
  const bool may_be_lines =
      schema.kind == AnswerFile::Kind::points || schema.kind == AnswerFile::Kind::results;
  if (is_lines && !may_be_lines)
    throw InputError(file + ":2", "expected nothing after the object of line 1");
  if (is_lines || schema.kind == AnswerFile::Kind::points) {
    read_lines(answer, text, shelf);
    return answer;
  }
  if (schema.kind != AnswerFile::Kind::asked) check_fits(shelf, schema.id, front, file);
  answer.values.push_back(std::move(front));
  return answer;
}

}  // namespace sgdsim
