// The fields that every case and every row has; the kinds of cases have the rest.
#include "study/validate/case_file.h"

#include <array>

#include "sim/core/error.h"
#include "sim/core/quantity.h"
#include "study/validate/case_kind.h"

namespace sgdsim {
namespace {

constexpr double largest_percent = 1000;

// Nothing is computed from the source, but a case without one is a rumour.
struct SourceFields {
  std::string origin = {};
  std::string measured = {};
  std::string fitted = {};
  std::string date = {};
};

Fields fields_of(SourceFields& o) {
  return {Field("origin", o.origin, "who measured, or which publication").needed().filled("text"),
          Field("measured", o.measured, "what a measured time is and how it was taken")
              .needed()
              .filled("text"),
          Field("fitted", o.fitted,
                "which parameters were fitted, how, and on which rows; or that none were")
              .needed()
              .filled("text"),
          {"date", o.date, "when it was measured, if known"}};
}

struct ToleranceFields {
  Tolerance tolerance = {};
};

Fields fields_of(ToleranceFields& file) {
  Tolerance& o = file.tolerance;
  return {
      Field("median_percent", o.median_percent, "largest median error over all held rows")
          .needed()
          .from(0, largest_percent),
      Field("p90_percent", o.p90_percent,
            "largest 90th percentile of the errors over all held rows")
          .needed()
          .from(0, largest_percent),
      Field("per_algorithm_median_percent", o.per_label_median_percent,
            "largest median error over the held rows of one label")
          .needed()
          .from(0, largest_percent),
      Field("from_size", o.from_size,
            "rows of smaller messages are below range; of a training step, the bytes of all "
            "gradients count")
          .needed(),
      Field("max_percent", o.max_percent, "largest error of any held row; not held if not given")
          .from(0, largest_percent)};
}

struct CaseFields {
  std::string schema = {};
  std::string name = {};
  std::optional<std::string> suite = {};
  std::string grade = {};
  std::string description = {};
  SourceFields source = {};
  ToleranceFields tolerance = {};
};

Fields fields_of(CaseFields& o) {
  return {
      Field("schema", o.schema, "kind and version of this file").needed().constant(case_schema),
      Field("name", o.name, "the name in reports, unique within a suite").needed().filled("text"),
      Field("suite", o.suite,
            "cases of one suite are judged together and have the same tolerance; the name if "
            "not given: judged alone")
          .filled("text"),
      Field("grade", o.grade,
            "A: inputs and outcome are complete. B: one input had to be assumed. C: only a "
            "ratio or a number from a text")
          .needed()
          .one_of({"A", "B", "C"}),
      Field("description", o.description, "what this machine is, in a sentence")
          .needed()
          .filled("text"),
      Field("source", o.source, "where the figures come from").needed(),
      Field("tolerance", o.tolerance,
            "what the held rows of the suite are held to; errors are |predicted / measured - "
            "1|")
          .needed()};
}

const std::array<CaseKind, 4>& case_kinds() {
  static const std::array<CaseKind, 4> kinds = {collective_case(), experiment_case(),
                                                training_case(), schedule_case()};
  return kinds;
}

// ---- what a row of any kind has

void check_above_zero(const Value& value) {
  if (value.duration() == Duration()) value.fail("expected a time above 0");
}

// A row that is not held says why, and was not fitted.
Json rule_of_reasons() {
  const Json reason = {{"required", Json::array({"reason"})}};
  Json then = reason;
  then["properties"] = {{"fitted", {{"const", false}}}};
  return {
      {"if", {{"properties", {{"held", {{"const", false}}}}}, {"required", Json::array({"held"})}}},
      {"then", then},
      {"else", {{"not", reason}}}};
}

void set_use(const OutcomeFields& outcome, const Value& value, CaseRow& row) {
  if (outcome.fitted.value_or(false)) {
    row.use = RowUse::fitted;
    if (outcome.held) value.child("held").fail("a fitted row is never held; leave \"held\" out");
  } else if (!outcome.held.value_or(true)) {
    row.use = RowUse::reported;
    if (!outcome.reason) value.fail("the field \"reason\" is missing");
    row.reason = *outcome.reason;
  }
  if (outcome.reason && row.use != RowUse::reported)
    value.child("reason").fail("a reason belongs to a row with \"held\": false");
}

}  // namespace

Field measured_time_field(Duration& time, const char* says) {
  return Field("time", time, says).needed().also(check_above_zero);
}

Fields fields_of(OutcomeFields& o) {
  return Fields{Field("label", o.label, "what the source calls it; errors are summarised by label")
                    .needed()
                    .filled("text"),
                measured_time_field(o.time,
                                    "the measured time, above 0: of a collective or a schedule "
                                    "from the start of the first rank to the end of the last, of "
                                    "a step that of an iteration or of a part of it"),
                Field("quartiles", o.quartiles,
                      "lower and upper quartile of the repetitions, around the time")
                    .entries(2, 2, "quartiles, the lower and the upper"),
                {"fitted", o.fitted, "parameters were fitted on this row; false if not given"},
                {"held", o.held,
                 "false: the row is shown, with a reason, but not held to the tolerance; true if "
                 "not given; fitted rows and rows below range are never held"},
                Field("reason", o.reason, "why the row is not held").filled("text")}
      .also(rule_of_reasons);
}

void read_outcome(Object& fields, CaseRow& row) {
  const auto outcome = read_record<OutcomeFields>(fields);
  row.label = outcome.label;
  row.measured = outcome.time;
  if (const auto& ends = outcome.quartiles) {
    row.quartiles = {ends->front(), ends->back()};
    if (ends->front() > row.measured || row.measured > ends->back())
      fields.at("quartiles")
          .fail("expected quartiles around the time of " + to_text(row.measured) + ", got " +
                to_text(ends->front()) + " and " + to_text(ends->back()));
  }
  set_use(outcome, fields.value(), row);
}

// ---- all kinds

std::string_view name_of(RowUse use) {
  switch (use) {
    case RowUse::held:
      return "held";
    case RowUse::fitted:
      return "fitted";
    case RowUse::reported:
      return "reported";
    case RowUse::below_range:
      return "below range";
  }
  return "";
}

Json schema_of_cases() {
  CaseFields usual;
  return schema_of_parts_by("kind", texts_of(case_kinds()), schema_of(fields_of(usual)));
}

CaseFile read_case(const Value& value) {
  Object fields(value);
  const auto given = read_record<CaseFields>(fields);
  const Value kind = fields.at("kind");
  CaseFile one{
      .file = value.file(),
      .name = given.name,
      .suite = given.suite.value_or(given.name),
      .grade = given.grade,
      .description = given.description,
      .tolerance = given.tolerance.tolerance,
      .rows =
          part_named(case_kinds(), "kind of case", kind.text(), kind.where()).read_rows(fields)};
  fields.done();
  bool holds_any = false;
  for (CaseRow& row : one.rows) {
    if (row.use != RowUse::fitted && row.size < one.tolerance.from_size)
      row.use = RowUse::below_range;
    holds_any |= row.use == RowUse::held;
  }
  if (!holds_any) value.fail("no row is held, so that no prediction could fail");
  return one;
}

CaseFile read_case_file(const std::string& file) {
  const Document document = Document::read(file);
  return read_case(document.root());
}

}  // namespace sgdsim
