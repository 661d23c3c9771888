// Telling files apart, and refusing what is none of them.
#include "app/report/answer_file.h"

#include <algorithm>
#include <array>
#include <set>

#include "sim/core/error.h"
#include "study/sweep/point_database.h"
#include "study/trace_events.h"

namespace sgdsim {
namespace {

constexpr char expected_answers[] =
    "expected what sgdsim run, sweep, plan, tune, collective, fit, validate, advise, layout, "
    "goodput, learn, diagnose and compare write as JSON, a timeline, or the experiment or sweep "
    "that was asked";

constexpr char layouts_schema[] = "sgdsim/layouts/1";
constexpr char goodput_schema[] = "sgdsim/goodput/1";

struct ShownSchema {
  const char* id;
  AnswerFile::Kind kind;
  const char* answer = "";  // of a point along axes, where that has a schema of its own
};

constexpr auto shown_schemas = std::to_array<ShownSchema>({
    {"sgdsim/result/1", AnswerFile::Kind::results},
    {"sgdsim/point/1", AnswerFile::Kind::points},
    {"sgdsim/plan/1", AnswerFile::Kind::document},
    {"sgdsim/best/1", AnswerFile::Kind::document},
    {"sgdsim/tune/1", AnswerFile::Kind::document},
    {"sgdsim/validation/1", AnswerFile::Kind::document},
    {"sgdsim/fit/1", AnswerFile::Kind::document},
    {"sgdsim/advice/1", AnswerFile::Kind::document},
    {layouts_schema, AnswerFile::Kind::document},
    {"sgdsim/learn/1", AnswerFile::Kind::document},
    {"sgdsim/learn-batches/1", AnswerFile::Kind::document},
    {"sgdsim/learn-point/1", AnswerFile::Kind::axis_points},
    {"sgdsim/diagnosis/1", AnswerFile::Kind::document},
    {"sgdsim/comparison/1", AnswerFile::Kind::document},
    {"sgdsim/layout-point/1", AnswerFile::Kind::axis_points, layouts_schema},
    {goodput_schema, AnswerFile::Kind::document},
    {"sgdsim/goodput-point/1", AnswerFile::Kind::axis_points, goodput_schema},
    {"sgdsim/collective/1", AnswerFile::Kind::document},
    {"sgdsim/collective-sweep/1", AnswerFile::Kind::document},
    {"sgdsim/experiment/1", AnswerFile::Kind::asked},
    {"sgdsim/sweep/1", AnswerFile::Kind::asked},
});

// Answers that a report does not show, and what shows them.
struct OtherSchema {
  std::string_view id;
  const char* way;
};

constexpr auto other_schemas = std::to_array<OtherSchema>({
    {"sgdsim/replay/1",
     "sgdsim replay SCHEDULE --timeline FILE writes a timeline, which a report shows"},
    {"sgdsim/steps/1", "it is the table that sgdsim import prints without --format json"},
    {"sgdsim/measurement/1",
     "sgdsim fit FILE --format json writes what a report shows of measured times"},
    {"sgdsim/trace/1",
     "sgdsim trace show FILE prints it, and sgdsim run and plan write what a report shows of it"},
    {"sgdsim/case/1", "sgdsim validate FILE --format json writes what a report shows of it"},
    {"sgdsim/jobs-result/1",
     "sgdsim jobs JOBS --timeline FILE writes a timeline, which a report shows"},
});

std::string other_way(const std::string& schema) {
  for (const OtherSchema& one : other_schemas)
    if (schema == one.id) return one.way;
  return expected_answers;
}

std::string_view without_blanks(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r\n") + 1 - first);
}

// Of a whole file that is one value: the error names line and column.
Json parse_answer(const std::string& text, const std::string& file) {
  if (!check_text(text, file)) Document::parse(text, file);
  return Json::parse(text);
}

const ShownSchema& schema_of(const Json& value, const std::string& where) {
  if (!value.is_object() || !value.contains("schema") || !value["schema"].is_string())
    throw InputError(where, std::string("there is no field \"schema\"; ") + expected_answers);
  const std::string schema = value["schema"];
  const auto* found = std::find_if(shown_schemas.begin(), shown_schemas.end(),
                                   [&](const ShownSchema& one) { return schema == one.id; });
  if (found == shown_schemas.end())
    throw InputError(where,
                     "a report cannot show \"" + schema.substr(0, 60) + "\"; " + other_way(schema));
  return *found;
}

void check_fits(const SchemaShelf& shelf, const std::string& id, const Json& value,
                const std::string& where) {
  const std::vector<std::string> faults = faults_of_value(shelf, id, value);
  if (!faults.empty())
    throw InputError(where, "does not fit `sgdsim schema`: " + faults.front().substr(0, 300));
}

// The names and types of an object: lines of one shape are checked once. What a schema says beyond
// types is checked on the first of them.
void add_shape(const Json& json, std::string& shape) {
  shape += static_cast<char>('a' + static_cast<int>(json.type()));
  if (json.is_number()) shape.back() = 'n';
  if (!json.is_structured()) return;
  for (const auto& [name, member] : json.items()) {
    if (json.is_object()) (shape += name) += '=';
    add_shape(member, shape);
  }
  shape += '.';
}

// Lines of one file, with what has been seen of them.
class LineReader {
 public:
  LineReader(AnswerFile& answer, const SchemaShelf& shelf, const UsePoint& use_point)
      : answer_(answer), shelf_(shelf), use_point_(use_point) {}

  void read_rows() {
    line_word_ = ", row ";
    read_filled_database(answer_.name, [&](Json&& row) {
      ++number_;
      take(std::move(row));
    });
  }

  // The last line can be cut off: what a killed process leaves.
  void read(std::string_view text) {
    while (!text.empty()) {
      const std::size_t end = text.find('\n');
      const std::string_view line = without_blanks(text.substr(0, end));
      const bool is_torn = end == std::string_view::npos;
      text = is_torn ? std::string_view() : text.substr(end + 1);
      ++number_;
      if (!line.empty() && !read_line(line, is_torn))
        answer_.notes.push_back("line " + std::to_string(number_) +
                                " is cut off: what wrote it was interrupted");
    }
  }

 private:
  std::string where() const { return answer_.name + line_word_ + std::to_string(number_); }

  bool read_line(std::string_view line, bool is_torn) {
    if (!check_text(line, where())) {
      if (is_torn && count_ > 0) return false;
      throw InputError(where(),
                       "expected a JSON object per line, got " + std::string(line.substr(0, 60)));
    }
    take(Json::parse(line));
    return true;
  }

  void take(Json value) {
    const ShownSchema& schema = schema_of(value, where());
    if (schema.id != answer_.schema)
      throw InputError(where(), "expected " + answer_.schema + " as in the lines before, got " +
                                    std::string(schema.id));
    std::string shape;
    add_shape(value, shape);
    if (shapes_.insert(std::move(shape)).second) check_line(schema, value);
    ++count_;
    if (answer_.kind == AnswerFile::Kind::points)
      use_point_(value, answer_.name, number_);
    else
      answer_.values.push_back(std::move(value));
  }

  void check_line(const ShownSchema& schema, const Json& value) const {
    check_fits(shelf_, schema.id, value, where());
    if (*schema.answer != '\0' && value.contains("answer"))
      check_fits(shelf_, schema.answer, value["answer"], where());
  }

  AnswerFile& answer_;
  const SchemaShelf& shelf_;
  const UsePoint& use_point_;
  const char* line_word_ = ":";
  std::set<std::string> shapes_;
  int64_t number_ = 0;
  int64_t count_ = 0;
};

bool is_asked_without_schema(const Json& value) {
  return value.is_object() && !value.contains("schema") &&
         (value.contains("base") || (value.contains("trace") && value.contains("cluster")));
}

}  // namespace

AnswerFile read_answer_file(const std::string& file, const SchemaShelf& shelf,
                            const UsePoint& use_point) {
  AnswerFile answer;
  answer.name = file;
  if (holds_database(file)) {
    answer.kind = AnswerFile::Kind::points;
    answer.schema = "sgdsim/point/1";
    LineReader(answer, shelf, use_point).read_rows();
    return answer;
  }
  const std::string text = read_text(file);
  const std::string_view trimmed = without_blanks(text);
  if (trimmed.empty()) throw InputError(file, std::string("is empty; ") + expected_answers);
  if (text.starts_with(timeline_beginning)) {
    answer.kind = AnswerFile::Kind::timeline;
    answer.values.push_back(parse_answer(text, file));
    return answer;
  }
  const std::string_view first = without_blanks(trimmed.substr(0, trimmed.find('\n')));
  const bool is_lines = first.size() < trimmed.size() && check_text(first, file + ":1");
  Json front = is_lines ? Json::parse(first) : parse_answer(text, file);
  if (is_asked_without_schema(front)) {
    answer.kind = AnswerFile::Kind::asked;
    answer.values.push_back(std::move(front));
    return answer;
  }
  const ShownSchema& schema = schema_of(front, is_lines ? file + ":1" : file);
  answer.schema = schema.id;
  answer.kind = schema.kind;
  const bool may_be_lines = schema.kind == AnswerFile::Kind::points ||
                            schema.kind == AnswerFile::Kind::results ||
                            schema.kind == AnswerFile::Kind::axis_points;
  if (is_lines && !may_be_lines)
    throw InputError(file + ":2", "expected nothing after the object of line 1");
  if (is_lines || schema.kind == AnswerFile::Kind::points ||
      schema.kind == AnswerFile::Kind::axis_points) {
    LineReader(answer, shelf, use_point).read(text);
    return answer;
  }
  if (schema.kind != AnswerFile::Kind::asked) check_fits(shelf, schema.id, front, file);
  answer.values.push_back(std::move(front));
  return answer;
}

}  // namespace sgdsim
