// Every strategy on one experiment, side by side.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "app/step/result_json.h"

namespace sgdsim {

struct StrategyPlan {
  std::string strategy;
  std::string with;                   // a setting of --also
  std::vector<std::string> settings;  // beside the experiment's: {"strategy=p3"}
  std::string command;                // the `sgdsim run` that gives this plan
  StepResult result;
  Metrics metrics;
  std::vector<std::string> warnings;
  std::string why_not;  // it cannot be simulated; otherwise empty
};

// Every strategy, in the order of the registry. Where iterations are pipelined or workers do not
// wait for each other, messages are not scheduled within an iteration: under another setting
// (`with`) the own strategy has to do.
std::vector<StrategyPlan> plans_of(Experiment experiment, const std::string& with,
                                   Stopper* stopper);

// The fastest first; what cannot be simulated last.
void sort_plans(std::vector<StrategyPlan>& plans);

// Fills in the commands: `sgdsim run` of this experiment with these settings and the plan's own.
void name_commands(std::vector<StrategyPlan>& plans, const std::string& file,
                   const std::string& cluster, const std::vector<std::string>& settings);

// sgdsim/plan/1.
Json plans_json(const std::vector<StrategyPlan>& plans);

}  // namespace sgdsim
