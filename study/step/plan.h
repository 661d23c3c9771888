// Every strategy on one experiment, side by side.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "study/advise/apart.h"
#include "study/step/method.h"
#include "study/step/recorded.h"
#include "study/step/result_json.h"

namespace sgdsim {

// What an iteration takes at least and at most while constants move by up to `part`.
struct Around {
  double part = 0;
  double least_us = 0;
  double most_us = 0;
};

// What `optimal` is beside what is simulated, for people.
inline const char* bound_text(bool is_slower) {
  return is_slower
             ? "the best merging on one channel where each message takes what it takes behind "
               "others of its size, no bound here"
             : "no program reaches it";
}

struct StrategyPlan {
  std::string strategy;
  std::string method;                 // its label; empty: it is one of all strategies
  std::string with;                   // a setting of --also
  std::vector<std::string> settings;  // beside the experiment's: {"strategy=p3"}
  std::string command;                // the `sgdsim run` that gives this plan
  StepResult result;
  Metrics metrics;
  std::vector<std::string> warnings;
  std::string why_not;    // it cannot be simulated; otherwise empty
  int64_t samples = 0;    // of a step
  double steps = 1;       // for as many samples as the largest step here has
  bool is_bound = false;  // no program does it
  bool is_winner = false;
  bool is_own = false;  // the experiment's own strategy, or a trace's default
  std::optional<Around> around;

  bool can_win() const { return why_not.empty() && !is_bound; }
  // What plans are compared by.
  double compared_us() const { return metrics.mean_us * steps; }
};
bool have_unlike_samples(const std::vector<StrategyPlan>& plans);

// Every strategy, in the order of the registry. Where iterations are pipelined or workers do not
// wait for each other, messages are not scheduled within an iteration: under another setting
// (`with`) the own strategy has to do.
std::vector<StrategyPlan> plans_of(const Experiment& experiment, const std::string& with,
                                   const Stopper* stopper);

// The experiment as it is, under the label of a method.
StrategyPlan plan_of(const Experiment& experiment, const Method& method, const std::string& with,
                     Stopper* stopper);

// The fastest first, then bounds, then what cannot be simulated. Those that are as good as the
// fastest are winners, as far as measurements could tell them apart. Where steps have different
// numbers of samples, the fastest is what takes least for as many.
void sort_plans(std::vector<StrategyPlan>& plans, const Apart& apart);

// Fills in the commands: `sgdsim run` of this experiment with these settings and the plan's own.
void name_commands(std::vector<StrategyPlan>& plans, const std::string& file,
                   const std::string& cluster, const std::vector<std::string>& settings);

// What follows is in around.cpp: how far plans move when the constants of the network do.

// "5 %", "5%" or "0.05": a part from 0.001 to 0.5.
double part_around(const std::string& text, const std::string& where);

// Fills in `around` of the plans, by name of strategy. `again` answers a changed experiment.
void move_constants(
    const ResolvedExperiment& resolved, double part, std::vector<StrategyPlan>& plans,
    const std::function<std::vector<StrategyPlan>(const ResolvedExperiment&)>& again);

// sgdsim/plan/1. `recorded`: of a profile.
Json plans_json(const std::vector<StrategyPlan>& plans, const Apart& apart,
                const std::optional<RecordedTruth>& recorded);
Json schema_of_plans();

}  // namespace sgdsim
