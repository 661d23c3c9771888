// From words to judged cases.
#include "study/validate/validation_answer.h"

#include <algorithm>
#include <cmath>

#include "study/table.h"

namespace sgdsim {
namespace {

// ---- what is told

Field use_field(const RowUse& use) {
  return Field(
             "use", std::string(name_of(use)),
             "what the row is for: a prediction held to the tolerance, a fit, a report only, or a "
             "size below the range of the parameters")
      .one_of({"held", "fitted", "reported", "below range"});
}

}  // namespace

Fields fields_of(const ErrorSummary& errors) {
  return {{"rows", errors.rows, "how many rows; all else is 0 where there are none"},
          Field("median_percent", errors.median, "median of absolute errors").at_least(0),
          Field("p90_percent", errors.p90, "90th percentile of absolute errors").at_least(0),
          Field("max_percent", errors.max, "the largest absolute error").at_least(0),
          {"signed_median_percent", errors.signed_median, "above 0: predicted too long"}};
}

Fields fields_of(const LabelResult& label) {
  return Fields{{"label", label.label, "what the source calls it"}, use_field(label.use)} +
         fields_of(label.errors);
}

Fields fields_of(const RowInputs& o) {
  return {Field("algorithm", o.algorithm, "of a collective: what simulated it").if_any(),
          Field("operation", o.operation, "of a collective: what it achieves").if_any(),
          Field("ranks", o.ranks, "of a collective: how many took part").at_least(1),
          {"size_B", o.size_B, "of a collective: bytes of the message"},
          Field("block_B", o.block_B, "of a pipeline: bytes of a block").at_least(1),
          {"set", o.set, "of a training step: the settings of its experiment"},
          Field("of", o.of, "of a training step: which part of it, if not the iteration")
              .one_of({"backward", "exposed"})
              .if_any(),
          Field("model", o.model, "of a layout: what was trained").if_any(),
          Field("layout", o.layout, "how it was laid out, as a short text").if_any(),
          Field("sequence", o.sequence, "of a layout: tokens of a sequence").at_least(1),
          Field("schedule", o.schedule, "path of a schedule in GOAL").if_any(),
          Field("line", o.line, "of a schedule: the operation in this line, not the end of all")
              .at_least(1)};
}

Fields fields_of(const RowResult& result) {
  static const CaseRow none;
  const CaseRow& row = result.row != nullptr ? *result.row : none;
  std::vector<double> quartiles_us;
  if (row.quartiles) quartiles_us = {row.quartiles->first.us(), row.quartiles->second.us()};
  return Fields{{"label", row.label, "what the source calls it"}} + fields_of(row.inputs) +
         Fields{use_field(row.use),
                Field("reason", row.reason, "why a reported row is not held").if_any(),
                Field("measured_us", row.measured.us(), "median of the measured times").at_least(0),
                Field("quartiles_us", std::move(quartiles_us),
                      "lower and upper quartile of the measured times")
                    .at_least(0)
                    .entries(2, 2, "quartiles")
                    .if_any(),
                Field("predicted_us", result.predicted.us(), "what sgdsim says").at_least(0),
                {"predicted_ps", result.predicted.ps(), "the same in picoseconds"},
                {"error_percent", result.error_percent, "100 (predicted / measured - 1)"},
                {"perfect_scaling_percent", result.scaled_percent,
                 "of a whole training step: the error of perfect scaling, the time of one worker"},
                Field("wrong", result.wrong,
                      "how the planned gradient messages differ from the measured ones")
                    .if_any()};
}

Fields fields_of(const Tolerance& tolerance) {
  return {
      {"median_percent", tolerance.median_percent, "of all held rows"},
      {"p90_percent", tolerance.p90_percent, "of all held rows"},
      {"per_algorithm_median_percent", tolerance.per_label_median_percent,
       "of the held rows of a label"},
      {"from_size_B", tolerance.from_size.count(), "smaller rows are below range"},
      {"max_percent", tolerance.max_percent, "of any held row, if it is tolerated only so far"}};
}

namespace {

Field perfect_scaling_field(const Judged& judged) {
  std::optional<ErrorSummary> errors;
  if (judged.perfect_scaling.rows > 0) errors = judged.perfect_scaling;
  return {"perfect_scaling", std::move(errors),
          "of held rows that are whole training steps: the errors of perfect scaling (the time of "
          "one worker), which predictions have to beat"};
}

struct ToldCase {
  const CaseResult* of = nullptr;
  bool has_rows = true;
};
Fields fields_of(const ToldCase& told) {
  static const CaseFile no_file;
  static const CaseResult none{&no_file, {}};
  const CaseResult& result = told.of != nullptr ? *told.of : none;
  std::optional<std::vector<RowResult>> rows;
  if (told.has_rows) rows = result.judged.rows;
  return {{"name", result.file->name, "the name of the case"},
          {"file", result.file->file, "the file it was read from"},
          Field("grade", result.file->grade, "as in the file").one_of({"A", "B", "C"}),
          {"held", result.judged.held, "errors of its held rows"},
          perfect_scaling_field(result.judged),
          {"labels", result.judged.labels, "errors by use and label"},
          {"rows", std::move(rows), "every row in the order of the file, with --rows"}};
}

struct ToldSuite {
  SuiteResult suite = {};
  bool has_rows = false;
};
Fields fields_of(const ToldSuite& told) {
  const SuiteResult& suite = told.suite;
  std::vector<ToldCase> cases;
  for (const CaseResult& one : suite.cases) cases.push_back({&one, told.has_rows});
  return {{"name", suite.name, "as in the case files"},
          {"within", suite.breaches.empty(), "whether its held rows are within its tolerance"},
          {"breaches", suite.breaches, "what is beyond tolerance, a sentence each"},
          {"tolerance", suite.tolerance, "as in the case files"},
          {"held", suite.judged.held, "errors of all held rows of the suite"},
          perfect_scaling_field(suite.judged),
          {"labels", suite.judged.labels, "errors by use and label"},
          Field("cases", std::move(cases), "the same for each case").filled("case")};
}

Fields told_fields(const bool& is_within, const std::vector<ToldSuite>& suites) {
  return {answer_kind("sgdsim/validation/1"),
          {"within", is_within,
           "whether all suites are within their tolerance; if not, the exit code is 5"},
          Field("suites", suites,
                "the suites in the order of the files; a case without a suite is one by itself")
              .filled("suite")};
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
  if (use == RowUse::held && judged.perfect_scaling.rows > 0)
    add(table, "perfect scaling", judged.perfect_scaling);
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
  return {
      Field("case", words.files, "case files").needed().files(FileWords::or_content).option("CASE"),
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
  std::vector<ToldSuite> suites;
  for (const SuiteResult& suite : answer.suites) suites.push_back({suite, with_rows});
  return written(told_fields(answer.is_within(), suites));
}
Json schema_of_validations() { return record_schema(told_fields(true, {})); }

void print(std::ostream& out, const ValidationAnswer& answer, bool with_rows) {
  for (const SuiteResult& suite : answer.suites) {
    if (&suite != &answer.suites.front()) out << '\n';
    print_suite(out, suite, with_rows);
  }
}

Answer answer_validate(const Value& question, const Watch& watch) {
  ValidateWords words = words_of(question, validate_fields);
  const ValidationAnswer answered = answer_validation(words, watch);
  Answer answer{to_json(answered, words.rows)};
  if (answered.is_within()) return answer;
  answer.code = exit_beyond_tolerance;
  answer.problem = "predictions are beyond tolerance";
  return answer;
}

}  // namespace sgdsim
