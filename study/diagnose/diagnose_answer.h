// `sgdsim diagnose`: from the words to what slows recorded steps.
#pragma once

#include <string>
#include <vector>

#include "models/diagnose/clocks.h"
#include "models/diagnose/diagnosis.h"
#include "sim/core/json.h"
#include "study/answer.h"
#include "study/diagnose/record_source.h"
#include "study/question_fields.h"

namespace sgdsim {

inline constexpr char diagnosis_schema[] = "sgdsim/diagnosis/1";

struct DiagnoseWords {
  std::string record;
  RecordWords of;
  std::string clocks = "auto";
  int layers = 0;
  std::vector<std::string> what_ifs;
};
Fields diagnose_fields(DiagnoseWords& words);

struct DiagnoseAnswer {
  std::string file;
  std::string format;
  std::vector<std::string> worker_names;  // as the record calls them; empty: it does not
  diagnose::StepWork work;
  diagnose::Diagnosis diagnosis;
  std::vector<std::string> notes;  // what the record lacks, and what the answer then rests on
};

DiagnoseAnswer answer_diagnose(const DiagnoseWords& words, const Watch& watch = {});
DiagnoseAnswer answer_diagnose(FoundRecord found, diagnose::ClockRule rule,
                               const diagnose::DiagnoseOptions& options);

// What a record lacks for these answers.
std::vector<std::string> lacks_of(const diagnose::StepWork& work, int layers);

// "stage 3 of replica 1", with the record's own name behind it.
std::string worker_text(const DiagnoseAnswer& answer, int worker);
// "the link between stages 1 and 2 of replica 0".
std::string part_words(const DiagnoseAnswer& answer, const diagnose::Part& part);

// Where a step with this slowdown stands among those of the field.
std::string field_text(double slowdown);

// sgdsim/diagnosis/1.
Json to_json(const DiagnoseAnswer& answer);
Json schema_of_diagnoses();

Answer answer_diagnose(const Value& question, const Watch& watch);

}  // namespace sgdsim
