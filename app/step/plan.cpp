// Simulating and sorting.
#include "app/step/plan.h"

#include <algorithm>

#include "app/shell_word.h"
#include "app/step/warnings.h"
#include "models/strategy/registry.h"
#include "sim/core/error.h"

namespace sgdsim {
namespace {

Json plan_json(const StrategyPlan& plan) {
  Json json = {{"strategy", plan.strategy}};
  if (!plan.with.empty()) json["with"] = plan.with;
  if (!plan.why_not.empty()) {
    json["why_not"] = plan.why_not;
    return json;
  }
  json["iteration_ps"] = plan.metrics.mean_ps;
  json["iteration_us"] = plan.metrics.mean_us;
  json["exposed_us"] = plan.result.mean.exposed.us();
  json["speedup"] = plan.metrics.speedup;
  json["command"] = plan.command;
  json["groups"] = messages_json(plan.result);
  if (!plan.warnings.empty()) json["warnings"] = plan.warnings;
  return json;
}

}  // namespace

std::vector<StrategyPlan> plans_of(Experiment experiment, const std::string& with,
                                   Stopper* stopper) {
  std::vector<StrategyPlan> plans;
  const Strategy own = experiment.strategy;
  for (const StrategyKind& kind : strategies()) {
    if (!with.empty() && experiment.synchronization && kind.name != own.name) continue;
    StrategyPlan plan;
    plan.strategy = kind.name;
    plan.with = with;
    // The experiment's own strategy keeps its fields, the others have their defaults.
    const bool is_own = plan.strategy == own.name;
    experiment.strategy = is_own ? own : strategy_named(plan.strategy, "");
    if (!is_own) plan.settings.push_back("strategy=" + plan.strategy);
    try {
      StepQuestion question = experiment.question();
      question.stopper = stopper;
      restart(stopper);
      plan.result = simulate_step(question);
      plan.metrics = metrics_of(experiment, plan.result);
      plan.warnings = warnings_of(experiment, plan.result);
    } catch (const InputError& error) {
      plan.why_not = error.what();
    } catch (const LimitReached& limit) {
      throw limit.with(", with strategy " + plan.strategy);
    }
    plans.push_back(std::move(plan));
  }
  return plans;
}

void sort_plans(std::vector<StrategyPlan>& plans) {
  std::stable_sort(plans.begin(), plans.end(), [](const StrategyPlan& a, const StrategyPlan& b) {
    if (a.why_not.empty() != b.why_not.empty()) return a.why_not.empty();
    return a.metrics.mean_ps < b.metrics.mean_ps;
  });
}

void name_commands(std::vector<StrategyPlan>& plans, const std::string& file,
                   const std::string& cluster, const std::vector<std::string>& settings) {
  for (StrategyPlan& plan : plans) {
    std::vector<std::string> all = settings;
    all.insert(all.end(), plan.settings.begin(), plan.settings.end());
    plan.command = shell_command("run", file, cluster, all);
  }
}

Json plans_json(const std::vector<StrategyPlan>& plans) {
  Json json = {{"schema", "sgdsim/plan/1"}, {"plans", Json::array()}};
  for (const StrategyPlan& plan : plans) json["plans"].push_back(plan_json(plan));
  return json;
}

}  // namespace sgdsim
