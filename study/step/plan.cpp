// Simulating and sorting.
#include "study/step/plan.h"

#include <algorithm>
#include <tuple>

#include "models/strategy/registry.h"
#include "sim/core/error.h"
#include "sim/core/worked_on.h"
#include "sim/net/stuck.h"
#include "study/shell_word.h"
#include "study/step/override.h"
#include "study/step/warnings.h"

namespace sgdsim {
namespace {

struct ToldAround {
  Around around = {};
};
Fields fields_of(const ToldAround& told) {
  return {{"percent", 100 * told.around.part, "the largest change of a constant"},
          {"least_us", told.around.least_us, "the shortest iteration"},
          {"most_us", told.around.most_us, "the longest iteration"}};
}

// Simulates, or says why not.
void play(StrategyPlan& plan, const Experiment& experiment, Stopper* stopper) {
  const std::string when =
      ", with " + (plan.method.empty() ? "strategy " + plan.strategy : "method " + plan.method);
  try {
    plan.samples = experiment.samples();
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

std::vector<StrategyPlan> plans_of(const Experiment& experiment, const std::string& with,
                                   const Stopper* stopper) {
  std::vector<StrategyPlan> plans;
  std::vector<Strategy> strategies_of_plans;
  const Strategy& own = experiment.strategy;
  const std::optional<Synchronization>& synchronization = experiment.synchronization;
  const bool plays_strategy = !synchronization || synchronization->plays_strategy();
  for (const StrategyKind& kind : strategies()) {
    StrategyPlan plan;
    plan.strategy = kind.name;
    plan.with = with;
    // The experiment's own strategy keeps its fields, the others have their defaults.
    const bool is_own = plan.strategy == own.name;
    if (plays_strategy && !with.empty() && synchronization && !is_own) continue;
    const Strategy strategy = is_own ? own : strategy_named(plan.strategy, "");
    if (!plays_strategy && !strategy.sends_all_at_once) continue;
    if (!is_own) plan.settings.push_back("strategy=" + plan.strategy);
    plan.is_bound = kind.is_bound;
    plan.is_own = is_own && with.empty();
    plans.push_back(std::move(plan));
    strategies_of_plans.push_back(strategy);
  }
  return worked_on<StrategyPlan>(
      plans.size(), {.look = [&] { look(stopper); }},
      [&](int, std::size_t number, const std::function<void()>& its_look) {
        StrategyPlan plan = plans[number];
        Experiment its = experiment;
        its.strategy = strategies_of_plans[number];
        Stopper its_stopper(its_look, limits_of(stopper));
        play(plan, its, &its_stopper);
        if (plan.why_not.empty() && !plays_strategy && with.empty())
          plan.warnings.push_back(synchronization->name +
                                  " sends everything in one message after the backward pass: "
                                  "strategies do not differ");
        return plan;
      });
}

bool have_unlike_samples(const std::vector<StrategyPlan>& plans) {
  return std::any_of(plans.begin(), plans.end(), [](const auto& plan) { return plan.steps != 1; });
}

void sort_plans(std::vector<StrategyPlan>& plans, const Apart& apart) {
  int64_t most = 0;
  for (const StrategyPlan& plan : plans)
    if (plan.why_not.empty()) most = std::max(most, plan.samples);
  for (StrategyPlan& plan : plans)
    if (plan.why_not.empty() && plan.samples > 0)
      plan.steps = static_cast<double>(most) / static_cast<double>(plan.samples);
  const auto place = [](const StrategyPlan& plan) {
    return std::tuple(!plan.why_not.empty(), plan.is_bound,
                      static_cast<double>(plan.metrics.mean_ps) * plan.steps);
  };
  std::stable_sort(plans.begin(), plans.end(), [&](const StrategyPlan& a, const StrategyPlan& b) {
    return place(a) < place(b);
  });
  for (StrategyPlan& plan : plans)
    plan.is_winner =
        plan.can_win() && apart.is_as_good(plan.compared_us(), plans.front().compared_us());
}

void name_commands(std::vector<StrategyPlan>& plans, const std::string& file,
                   const std::string& cluster, const std::vector<std::string>& settings) {
  for (StrategyPlan& plan : plans)
    plan.command = shell_command("run", file, cluster, on_top(settings, plan.settings));
}

Fields fields_of(const StrategyPlan& plan) {
  const bool has_answer = plan.why_not.empty();
  const auto if_answered = [&](const auto& value) {
    return has_answer ? std::optional(value) : std::nullopt;
  };
  return {
      {"strategy", plan.strategy, "its name"},
      Field("method", plan.method, "the label of --method").if_any(),
      Field("with", plan.with, "the setting of --also that it was simulated with").if_any(),
      Field("is_bound", plan.is_bound,
            "no program simulates it: it says what others can gain at most, and never wins")
          .if_any(),
      Field("is_winner", plan.is_winner,
            "the fastest, or as good as the fastest as far as measurements could tell")
          .if_any(),
      Field("why_not", plan.why_not, "why it has no answer here").if_any(),
      {"iteration_ps", if_answered(plan.metrics.mean_ps),
       "mean time of an iteration in whole picoseconds"},
      {"iteration_us", if_answered(plan.metrics.mean_us), "mean time of an iteration"},
      Field("steps", has_answer && plan.steps != 1 ? std::optional(plan.steps) : std::nullopt,
            "how many of its steps train as many samples as the largest step here; absent: one. "
            "Lines are compared by iteration times steps"),
      {"exposed_us", if_answered(plan.result.mean.exposed.us()),
       "what communication adds to the iteration"},
      {"speedup", if_answered(plan.metrics.speedup),
       "over one worker, at the same batch per worker"},
      {"around", has_answer && plan.around ? std::optional(ToldAround{*plan.around}) : std::nullopt,
       "what an iteration takes while the network's start-ups, and its times per byte, are shorter "
       "and longer by up to a part (--around)"},
      {"command", if_answered(plan.command), "the `sgdsim run` that gives this line, for a shell"},
      {"groups", if_answered(plan.result.messages),
       "the gradient messages of one iteration, in the order in which they went"},
      Field("warnings", if_answered(plan.warnings),
            "what the reader must know before trusting the numbers")
          .filled("warning")
          .if_any()};
}

namespace {

Fields plan_answer_fields(const std::vector<StrategyPlan>& plans, const Apart& apart,
                          const std::optional<RecordedTruth>& recorded) {
  return {answer_kind("sgdsim/plan/1"),
          {"plans", plans,
           "one entry per strategy or method, and for each setting of --also one more: the fastest "
           "first, then bounds, then what has no answer"},
          {"error_percent", apart.percent(),
           "how far apart results have to be to tell: nine of ten measured ratios of this kind "
           "were within it; absent where nothing comparable was measured, and only equal results "
           "win together"},
          Field("error_of", apart.of, "what was measured, or why nothing is known").if_any(),
          {"recorded", recorded, "of a profile: what was recorded, medians over steps and ranks"}};
}

}  // namespace

Json plans_json(const std::vector<StrategyPlan>& plans, const Apart& apart,
                const std::optional<RecordedTruth>& recorded) {
  return written(plan_answer_fields(plans, apart, recorded));
}
Json schema_of_plans() { return record_schema(plan_answer_fields({}, {}, {})); }

}  // namespace sgdsim
