// Recorded steps beside predicted ones, part by part.
#pragma once

#include <ostream>
#include <string>
#include <vector>

#include "models/diagnose/step_times.h"
#include "study/diagnose/diagnose_answer.h"

namespace sgdsim {

inline constexpr char comparison_schema[] = "sgdsim/comparison/1";

// What is predicted: an experiment that is simulated, or another record.
struct PredictedSteps {
  std::string file;
  diagnose::StepWork work;
  diagnose::PartTimes times{};
  double step_s = 0;
};
struct CompareWords;
// What the words say of the record's division holds for another record that does not say it.
PredictedSteps read_prediction(const std::string& file, const CompareWords& words);

struct Comparison {
  DiagnoseAnswer measured;
  diagnose::PartTimes times{};
  double measured_s = 0;  // mean of the steps
  std::vector<diagnose::Explanation> explanations;
  std::vector<std::string> notes;
};
Comparison compare(DiagnoseAnswer measured, const PredictedSteps& prediction);

// InputError if steps of so many stages cannot be compared with these.
void check_alike(const diagnose::StepWork& measured, const PredictedSteps& prediction,
                 const std::string& file);

struct CompareWords {
  std::string record;
  std::string experiment;  // or another record
  RecordWords of;          // of the record
  std::string cluster;     // of a trace, or another one of the experiment
  std::vector<std::string> settings;
};
// Without the files, which a command line has in an order of its own.
Fields comparison_fields(CompareWords& words);
Fields compare_fields(CompareWords& words);

struct AnsweredComparison {
  PredictedSteps prediction;
  Comparison comparison;
};
AnsweredComparison answer_compare(const CompareWords& words, const Watch& watch = {});
Answer answer_compare(const Value& question, const Watch& watch);

std::string time_part_words(diagnose::TimePart part);
// sgdsim/comparison/1.
Json to_json(const Comparison& comparison, const PredictedSteps& prediction);
Json schema_of_comparisons();
void print(std::ostream& out, const Comparison& comparison, const PredictedSteps& prediction);
// As Prometheus reads it.
void print_prometheus(std::ostream& out, const Comparison& comparison,
                      const PredictedSteps& prediction);

}  // namespace sgdsim
