// Predicted against measured: the words of the question, its answer as JSON and as tables.
#pragma once

#include <ostream>
#include <string>
#include <vector>

#include "study/answer.h"
#include "study/question_fields.h"
#include "study/validate/validation.h"

namespace sgdsim {

struct ValidateWords {
  std::vector<std::string> files;
  bool rows = false;
};

Fields validate_fields(ValidateWords& words);

struct ValidationAnswer {
  std::vector<CaseFile> files;  // which the suites refer to
  std::vector<SuiteResult> suites;
  bool is_within() const { return within_tolerance(suites); }
};
ValidationAnswer answer_validation(const ValidateWords& words, const Watch& watch = {});
// sgdsim/validation/1.
Json to_json(const ValidationAnswer& answer, bool with_rows);
Json schema_of_validations();
void print(std::ostream& out, const ValidationAnswer& answer, bool with_rows);

Answer answer_validate(const Value& question, const Watch& watch);

}  // namespace sgdsim
