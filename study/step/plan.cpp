// Simulating and sorting.
#include "study/step/plan.h"

#include <algorithm>
#include <tuple>

#include "models/strategy/registry.h"
#include "sim/core/error.h"
#include "sim/net/stuck.h"
#include "study/shell_word.h"
#include "study/step/warnings.h"

namespace sgdsim {
namespace {

Json plan_json(const StrategyPlan& plan) {
  Json json = {{"strategy", plan.strategy}};
  if (!plan.method.empty()) json["method"] = plan.method;
  if (!plan.with.empty()) json["with"] = plan.with;
  if (plan.is_bound) json["is_bound"] = true;
  if (plan.is_winner) json["is_winner"] = true;
  if (!plan.why_not.empty()) {
    json["why_not"] = plan.why_not;
    return json;
  }
  json["iteration_ps"] = plan.metrics.mean_ps;
  json["iteration_us"] = plan.metrics.mean_us;
  json["exposed_us"] = plan.result.mean.exposed.us();
  json["speedup"] = plan.metrics.speedup;
  if (plan.around)
    json["around"] = {{"percent", 100 * plan.around->part},
                      {"least_us", plan.around->least_us},
                      {"most_us", plan.around->most_us}};
  json["command"] = plan.command;
  json["groups"] = messages_json(plan.result);
  if (!plan.warnings.empty()) json["warnings"] = plan.warnings;
  return json;
}

// Simulates, or says why not.
void play(StrategyPlan& plan, const Experiment& experiment, Stopper* stopper) {
  const std::string when =
      ", with " + (plan.method.empty() ? "strategy " + plan.strategy : "method " + plan.method);
  try {
    StepQuestion question = experiment.question();
    question.stopper = stopper;
    restart(stopper);
    plan.result = simulate_step(question);
    plan.metrics = metrics_of(experiment, plan.result);
    plan.warnings = warnings_of(experiment, plan.result);
  } catch (NetworkStuck& stuck) {
    stuck.when = when;
    throw;
  } catch (const InputError& error) {
    plan.why_not = error.what();
  } catch (const LimitReached& limit) {
    throw limit.with(when);
  }
}

}  // namespace

StrategyPlan plan_of(const Experiment& experiment, const Method& method, const std::string& with,
                     Stopper* stopper) {
  StrategyPlan plan;
  plan.strategy = experiment.strategy.name;
  plan.method = method.label;
  plan.with = with;
  plan.is_bound = is_bound(plan.strategy) &&
                  std::any_of(method.fields.begin(), method.fields.end(), [](const auto& field) {
                    return field.first == "strategy" || field.first == "strategy.name";
                  });
  play(plan, experiment, stopper);
  return plan;
}

std::vector<StrategyPlan> plans_of(Experiment experiment, const std::string& with,
                                   Stopper* stopper) {
  std::vector<StrategyPlan> plans;
  const Strategy own = experiment.strategy;
  const std::optional<Synchronization>& synchronization = experiment.synchronization;
  const bool plays_strategy = !synchronization || synchronization->plays_strategy();
  for (const StrategyKind& kind : strategies()) {
    StrategyPlan plan;
    plan.strategy = kind.name;
    plan.with = with;
    // The experiment's own strategy keeps its fields, the others have their defaults.
    const bool is_own = plan.strategy == own.name;
    if (plays_strategy && !with.empty() && synchronization && !is_own) continue;
    experiment.strategy = is_own ? own : strategy_named(plan.strategy, "");
    if (!plays_strategy && !experiment.strategy.sends_all_at_once) continue;
    if (!is_own) plan.settings.push_back("strategy=" + plan.strategy);
    plan.is_bound = kind.is_bound;
    plan.is_own = is_own && with.empty();
    play(plan, experiment, stopper);
    if (plan.why_not.empty() && !plays_strategy && with.empty())
      plan.warnings.push_back(synchronization->name +
                              " sends everything in one message after the backward pass: "
                              "strategies do not differ");
    plans.push_back(std::move(plan));
  }
  return plans;
}

void sort_plans(std::vector<StrategyPlan>& plans, const Apart& apart) {
  const auto place = [](const StrategyPlan& plan) {
    return std::tuple(!plan.why_not.empty(), plan.is_bound, plan.metrics.mean_ps);
  };
  std::stable_sort(plans.begin(), plans.end(), [&](const StrategyPlan& a, const StrategyPlan& b) {
    return place(a) < place(b);
  });
  for (StrategyPlan& plan : plans)
    plan.is_winner =
        plan.can_win() && apart.is_as_good(plan.metrics.mean_us, plans.front().metrics.mean_us);
}

void name_commands(std::vector<StrategyPlan>& plans, const std::string& file,
                   const std::string& cluster, const std::vector<std::string>& settings) {
  for (StrategyPlan& plan : plans) {
    std::vector<std::string> all = settings;
    all.insert(all.end(), plan.settings.begin(), plan.settings.end());
    plan.command = shell_command("run", file, cluster, all);
  }
}

Json plans_json(const std::vector<StrategyPlan>& plans, const Apart& apart) {
  Json json = {{"schema", "sgdsim/plan/1"}, {"plans", Json::array()}};
  if (apart.error > 0) json["error_percent"] = 100 * apart.error;
  if (!apart.of.empty()) json["error_of"] = apart.of;
  for (const StrategyPlan& plan : plans) json["plans"].push_back(plan_json(plan));
  return json;
}

}  // namespace sgdsim
