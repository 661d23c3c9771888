// "What should be changed?": from words to advice, as JSON and for people.
#pragma once

#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "study/advise/advice.h"
#include "study/answer.h"
#include "study/question_fields.h"
#include "study/wire_words.h"

namespace sgdsim {

struct AdviseWords {
  std::string file;
  std::string cluster;
  WireWords wires;
  std::string fit;
  std::vector<std::string> settings;
  std::vector<std::string> own;
  bool learn = false;
  TrainingWords training;
};

Fields advise_fields(AdviseWords& words);
AdviceQuestion advice_question(const AdviseWords& words);

// A profile that cannot be simulated gives what was recorded, and why there are no gains.
struct AdviceBase {
  ResolvedExperiment experiment;
  std::optional<RecordedTruth> facts;
};
AdviceBase base_or_facts(AdviceQuestion& question);

// The command that gives a line's figure.
std::string command_of(const AdviceQuestion& question, const Change& change,
                       const std::optional<AdvisedEnd>& training = {});
std::vector<std::string> assumed(const AdviceLine& line);
bool any_change_of(const Change& change, bool (*is)(ChangeKind));
double gain_in_percent(double factor);

// sgdsim/advice/1.
Json schema_of_advice();
Json facts_json(const AdviceQuestion& question, const RecordedTruth& truth);
Json advice_json(const AdviceQuestion& question, const Advice& advice);
void print_facts(std::ostream& out, const RecordedTruth& truth);
// `most`: lines of each sort.
void print(std::ostream& out, const AdviceQuestion& question, const Advice& advice,
           std::size_t most);

Answer answer_advise(const Value& question, const Watch& watch);

}  // namespace sgdsim
