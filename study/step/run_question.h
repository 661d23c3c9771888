// "What does a step take?" and "which strategy is best?": the words of the questions, and answers.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "study/advise/apart.h"
#include "study/answer.h"
#include "study/limits.h"
#include "study/need/breaks.h"
#include "study/question_fields.h"
#include "study/step/experiment.h"
#include "study/step/method.h"
#include "study/step/plan.h"
#include "study/step/recorded.h"
#include "study/step/warnings.h"
#include "study/wire_words.h"

namespace sgdsim {

// As text; empty where nothing was said.
struct RunWords {
  std::string experiment;
  std::string cluster;
  std::vector<std::string> settings;
  WireWords wires;
  std::vector<std::string> methods;
  LimitArguments limits;
  // run
  std::string timeline_workers = "0";
  std::string timeline_iterations;
  bool breaks = false;
  // plan
  std::vector<std::string> also;
  std::string around;
};

Fields run_fields(RunWords& words);
Fields plan_fields(RunWords& words);

// ---- run

struct RunQuestion {
  ResolvedExperiment resolved;
  Experiment experiment;
};
// InputError for words that are of a timeline only; `instead`: "ask `timeline`".
void check_no_timeline(const RunWords& words, const std::string& instead);
RunQuestion run_question(const RunWords& words);

struct RunAnswer {
  StepResult result;
  std::optional<Timeline> timeline;
  std::optional<RecordedTruth> truth;  // of a profile
  std::optional<Breaks> breaks;
  std::vector<std::string> warnings;
};
RunAnswer answer_run(const RunWords& words, const RunQuestion& question, bool wants_timeline,
                     const Watch& watch);
// sgdsim/result/1.
Json to_json(const RunQuestion& question, const RunAnswer& answer);

// ---- plan

struct PlanAnswer {
  std::vector<StrategyPlan> plans;  // best first
  Apart apart;
  std::optional<RecordedTruth> truth;  // of a profile
};
PlanAnswer answer_plan(const RunWords& words, const Watch& watch);
std::string name_of(const StrategyPlan& plan);
WarningTally warnings_of(const PlanAnswer& answer);
// sgdsim/plan/1.
Json to_json(const PlanAnswer& answer);

}  // namespace sgdsim
