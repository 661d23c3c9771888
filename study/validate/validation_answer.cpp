// From words to judged cases.
#include "study/validate/validation_answer.h"

#include <algorithm>
#include <cmath>

#include "study/table.h"

namespace sgdsim {
namespace {

// ---- JSON

Json to_json(const ErrorSummary& errors) {
  return {{"rows", errors.rows},
          {"median_percent", errors.median},
          {"p90_percent", errors.p90},
          {"max_percent", errors.max},
          {"signed_median_percent", errors.signed_median}};
}

Json labels_json(const std::vector<LabelResult>& labels) {
  Json list = Json::array();
  for (const LabelResult& label : labels) {
    Json one = {{"label", label.label}, {"use", std::string(name_of(label.use))}};
    one.update(to_json(label.errors));
    list.push_back(std::move(one));
  }
  return list;
}

Json to_json(const RowResult& result) {
  const CaseRow& row = *result.row;
  Json json = {{"label", row.label}};
  json.update(row.inputs);
  json["use"] = std::string(name_of(row.use));
  if (!row.reason.empty()) json["reason"] = row.reason;
  json["measured_us"] = row.measured.us();
  if (row.quartiles)
    json["quartiles_us"] = Json::array({row.quartiles->first.us(), row.quartiles->second.us()});
  json["predicted_us"] = result.predicted.us();
  json["predicted_ps"] = result.predicted.ps();
  json["error_percent"] = result.error_percent;
  if (!result.wrong.empty()) json["wrong"] = result.wrong;
  return json;
}

Json to_json(const CaseResult& result, bool with_rows) {
  Json json = {{"name", result.file->name},
               {"file", result.file->file},
               {"grade", result.file->grade},
               {"held", to_json(result.judged.held)},
               {"labels", labels_json(result.judged.labels)}};
  if (!with_rows) return json;
  json["rows"] = Json::array();
  for (const RowResult& row : result.judged.rows) json["rows"].push_back(to_json(row));
  return json;
}

Json to_json(const SuiteResult& suite, bool with_rows) {
  const Tolerance& tolerance = suite.tolerance;
  Json json = {{"name", suite.name},
               {"within", suite.breaches.empty()},
               {"breaches", suite.breaches},
               {"tolerance",
                {{"median_percent", tolerance.median_percent},
                 {"p90_percent", tolerance.p90_percent},
                 {"per_algorithm_median_percent", tolerance.per_label_median_percent},
                 {"from_size_B", tolerance.from_size.count()}}},
               {"held", to_json(suite.judged.held)},
               {"labels", labels_json(suite.judged.labels)},
               {"cases", Json::array()}};
  if (tolerance.max_percent) json["tolerance"]["max_percent"] = *tolerance.max_percent;
  for (const CaseResult& one : suite.cases) json["cases"].push_back(to_json(one, with_rows));
  return json;
}

// ---- tables

std::string signed_text(double percent) { return (percent > 0 ? "+" : "") + percent_text(percent); }

void add(Table& table, const std::string& name, const ErrorSummary& errors) {
  if (errors.rows == 0) return table.add({name, "0", "-", "-", "-", "-"});
  table.add({name, std::to_string(errors.rows), percent_text(errors.median),
             percent_text(errors.p90), percent_text(errors.max),
             signed_text(errors.signed_median)});
}

void print_labels(std::ostream& out, const Judged& judged, RowUse use) {
  Table table({std::string(name_of(use)), "rows", "median %", "p90 %", "max %", "signed median %"});
  bool any = false;
  for (const LabelResult& label : judged.labels) {
    if (label.use != use) continue;
    add(table, label.label, label.errors);
    any = true;
  }
  if (!any) return;
  if (use == RowUse::held) add(table, "all", judged.held);
  table.print(out);
  out << '\n';
}

void print_cases(std::ostream& out, const SuiteResult& suite) {
  if (suite.cases.size() == 1) return;
  Table table({"case", "held rows", "median %", "p90 %", "max %", "signed median %"});
  for (const CaseResult& one : suite.cases) add(table, one.file->name, one.judged.held);
  table.print(out);
  out << '\n';
}

// The reasons for which rows are reported only, once per label.
void print_reasons(std::ostream& out, const Judged& judged) {
  std::vector<std::string> said;
  for (const RowResult& result : judged.rows) {
    if (result.row->use != RowUse::reported) continue;
    const std::string line = "  " + result.row->label + ": " + result.row->reason;
    if (std::find(said.begin(), said.end(), line) != said.end()) continue;
    if (said.empty()) out << "not held, because\n";
    said.push_back(line);
    out << line << '\n';
  }
  if (!said.empty()) out << '\n';
}

// Worst first; equal errors in the order of the files.
void print_rows(std::ostream& out, const Judged& judged) {
  std::vector<RowResult> rows = judged.rows;
  std::stable_sort(rows.begin(), rows.end(), [](const RowResult& a, const RowResult& b) {
    return std::abs(a.error_percent) > std::abs(b.error_percent);
  });
  Table table({"case", "label", "point", "use", "measured", "predicted", "error %"});
  for (const RowResult& result : rows)
    table.add({result.file->name, result.row->label, result.row->point,
               std::string(name_of(result.row->use)), short_duration(result.row->measured.us(), 5),
               short_duration(result.predicted.us(), 5), signed_text(result.error_percent)});
  table.print(out, 4);
  out << '\n';
}

void print_suite(std::ostream& out, const SuiteResult& suite, bool with_rows) {
  out << suite.name << ": " << suite.cases.size()
      << (suite.cases.size() == 1 ? " case, " : " cases, ") << suite.judged.rows.size() << " rows, "
      << suite.judged.held.rows << " held\n\n";
  print_cases(out, suite);
  for (const RowUse use : {RowUse::held, RowUse::fitted, RowUse::reported, RowUse::below_range})
    print_labels(out, suite.judged, use);
  print_reasons(out, suite.judged);
  if (with_rows) print_rows(out, suite.judged);
  const Tolerance& tolerance = suite.tolerance;
  out << (suite.breaches.empty() ? "within" : "BEYOND") << " tolerance: median "
      << percent_text(tolerance.median_percent) << " %, 90th percentile "
      << percent_text(tolerance.p90_percent) << " %, median of each label "
      << percent_text(tolerance.per_label_median_percent) << " %";
  if (tolerance.max_percent) out << ", maximum " << percent_text(*tolerance.max_percent) << " %";
  out << '\n';
  for (const std::string& breach : suite.breaches) out << "  " << breach << '\n';
}

}  // namespace

Fields validate_fields(ValidateWords& words) {
  return {Field("case", words.files, "case files").needed().option("CASE"),
          {"rows", words.rows, "print every row too, worst first"}};
}

ValidationAnswer answer_validation(const ValidateWords& words, const Watch& watch) {
  ValidationAnswer answer;
  for (const std::string& file : words.files) {
    watch();
    answer.files.push_back(read_case_file(file));
  }
  answer.suites = validate(answer.files, watch);
  return answer;
}

Json to_json(const ValidationAnswer& answer, bool with_rows) {
  Json json = {
      {"schema", "sgdsim/validation/1"}, {"within", answer.is_within()}, {"suites", Json::array()}};
  for (const SuiteResult& suite : answer.suites)
    json["suites"].push_back(to_json(suite, with_rows));
  return json;
}

void print(std::ostream& out, const ValidationAnswer& answer, bool with_rows) {
  for (const SuiteResult& suite : answer.suites) {
    if (&suite != &answer.suites.front()) out << '\n';
    print_suite(out, suite, with_rows);
  }
}

Answer answer_validate(const Value& question, const Watch& watch) {
  ValidateWords words;
  Object object(question);
  read_words(object, validate_fields(words));
  object.done();
  const ValidationAnswer answered = answer_validation(words, watch);
  Answer answer{to_json(answered, words.rows)};
  if (answered.is_within()) return answer;
  answer.code = exit_beyond_tolerance;
  answer.problem = "predictions are beyond tolerance";
  return answer;
}

}  // namespace sgdsim
