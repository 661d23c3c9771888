// A kind of case: what its files have beside the fields of all cases, and how its rows are read.
#pragma once

#include <string_view>
#include <vector>

#include "sim/core/part.h"
#include "study/validate/case_file.h"

namespace sgdsim {

struct CaseKind {
  std::string_view name;
  std::string_view summary;
  PartOptions (*options)();
  std::vector<CaseRow> (*read_rows)(Object& fields);  // takes the fields of its kind
};
CaseKind collective_case();
CaseKind experiment_case();
CaseKind training_case();
CaseKind schedule_case();

// What a row of any kind has: what the source calls it, how long it took, how it is used.
struct OutcomeFields {
  std::string label = {};
  Duration time;
  std::optional<std::vector<Duration>> quartiles = {};
  std::optional<bool> fitted = {};
  std::optional<bool> held = {};
  std::optional<std::string> reason = {};
};
Fields fields_of(OutcomeFields& outcome);
void read_outcome(Object& fields, CaseRow& row);
Field measured_time_field(Duration& time, const char* says);  // above 0

// `measured` of a kind whose rows have these fields of their own.
template <Record Own>
Json schema_of_case_rows() {
  OutcomeFields outcome;
  Own own;
  return list_schema(record_schema(fields_of(outcome) + fields_of(own)), 1);
}

}  // namespace sgdsim
