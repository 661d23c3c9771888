// From words to questions, and their answers.
#include "study/step/run_question.h"

#include <algorithm>
#include <iterator>

#include "sim/core/error.h"
#include "sim/core/worked_on.h"
#include "study/need/experiment_breaks.h"
#include "study/step/override.h"
#include "study/step/result_json.h"
#include "study/step/simulated.h"
#include "study/step/timeline_json.h"
#include "study/step/warnings.h"

namespace sgdsim {
namespace {

Fields common_fields(RunWords& words) {
  return Fields{
             Field("experiment", words.experiment,
                   "an experiment file, a profile, or a trace (a file or a name) with --cluster; - "
                   "is standard input")
                 .needed()
                 .option("EXPERIMENT"),
             Field("cluster", words.cluster,
                   "cluster: a file, or a name of `sgdsim list clusters`; in place of the "
                   "experiment's")
                 .option("-c,--cluster"),
             {"method", words.methods,
              "a way of exchanging gradients with a label: \"gTop-k: compression=gtopk, "
              "density=0.001\""},
             {"set", words.settings, "change a field: cluster.nodes=128, strategy=optimal"},
         } +
         wire_fields(words.wires) + limit_fields(words.limits);
}

// All that changes the experiment, as after --set.
std::vector<std::string> settings_of(const RunWords& words) {
  return with_options(words.settings, words.wires);
}

ResolvedExperiment resolved_of(const RunWords& words) {
  ResolvedExperiment resolved =
      resolve_experiment(words.experiment, settings_of(words), words.cluster);
  note_options(resolved, words.wires);
  resolved.inputs.push_back(words.wires.traffic);
  return resolved;
}

ResolvedExperiment with_method(ResolvedExperiment resolved, const Method& method) {
  resolved = with_settings(std::move(resolved), settings_of(method));
  resolved.method = method.label;
  return resolved;
}

// Of a profile, what was recorded comes first.
std::optional<RecordedTruth> truth_in(const ResolvedExperiment& resolved,
                                      const std::string& cluster, const Experiment& experiment,
                                      const StepResult& result) {
  if (!resolved.recorded) return std::nullopt;
  RecordedTruth truth = truth_of(resolved.recorded);
  if (!cluster.empty()) truth.here = played_here(cluster, experiment, result);
  return truth;
}

ResolvedExperiment asked(const RunWords& words) {
  if (words.methods.empty()) return resolved_of(words);
  if (words.methods.size() > 1)
    throw InputError("--method", "run simulates one; sgdsim plan compares several");
  return with_method(resolved_of(words), method_in(words.methods.front()));
}

// Plans of every strategy, or of every method, as they are and under each setting of --also.
class Planner {
 public:
  Planner(const RunWords& words, const std::vector<Method>& methods)
      : words_(words), around_(around_in(words)), base_(resolved_of(words)), methods_(methods) {}

  std::vector<StrategyPlan> plans(const Stopper& stopper) const {
    std::vector<Asked> all = asked("");
    for (const std::string& with : words_.also) {
      std::vector<Asked> more = asked(with);
      std::move(more.begin(), more.end(), std::back_inserter(all));
    }
    using Plans = std::vector<StrategyPlan>;
    std::vector<Plans> answers =
        worked_on<Plans>(all.size(), {.look = [&] { stopper.look(); }},
                         [&](int, std::size_t number, const std::function<void()>& look) {
                           Stopper its(look, stopper.limits());
                           return answered(all[number], its);
                         });
    Plans plans;
    for (Plans& some : answers) std::move(some.begin(), some.end(), std::back_inserter(plans));
    return plans;
  }

 private:
  struct Asked {
    ResolvedExperiment resolved;
    std::vector<std::string> settings;  // of the command that gives it
    std::string with;
    const Method* method = nullptr;  // null: every strategy
  };

  std::vector<Asked> asked(const std::string& with) const {
    const std::vector<std::string> also =
        with.empty() ? std::vector<std::string>() : std::vector{with};
    const std::vector<std::string> given = settings_of(words_);
    std::vector<Asked> all;
    if (methods_.empty())
      all.push_back({with_settings(base_, also), on_top(given, also), with, nullptr});
    for (const Method& method : methods_)
      all.push_back({with_settings(with_method(base_, method), also),
                     on_top(on_top(given, settings_of(method)), also), with, &method});
    return all;
  }

  std::vector<StrategyPlan> answered(const Asked& one, Stopper& stopper) const {
    const auto answer = [&](const ResolvedExperiment& resolved) {
      return one.method == nullptr
                 ? sgdsim::plans_of(read_experiment(resolved), one.with, &stopper)
                 : std::vector{plan_of(read_experiment(resolved), *one.method, one.with, &stopper)};
    };
    std::vector<StrategyPlan> plans = answer(one.resolved);
    if (around_) move_constants(one.resolved, *around_, plans, answer);
    name_commands(plans, words_.experiment, words_.cluster, one.settings);
    return plans;
  }

  static std::optional<double> around_in(const RunWords& words) {
    if (words.around.empty()) return std::nullopt;
    return part_around(words.around, "--around");
  }

  const RunWords& words_;
  std::optional<double> around_;  // read before the experiment is looked for
  const ResolvedExperiment base_;
  const std::vector<Method>& methods_;
};

std::vector<StrategyPlan> plans_of(const RunWords& words, const std::vector<Method>& methods,
                                   const Watch& watch) {
  const Stopper stopper(watch, limits_of(words.limits));
  return Planner(words, methods).plans(stopper);
}

// The step with its own strategy, beside what was recorded.
std::optional<RecordedTruth> truth_in(const ResolvedExperiment& resolved,
                                      const std::string& cluster) {
  if (!resolved.recorded) return std::nullopt;
  const Experiment experiment = read_experiment(resolved);
  return truth_in(resolved, cluster, experiment, simulate_step(experiment.question()));
}

// What plans differ in: the strategy, or what methods and --also set.
Apart apart_of(const RunWords& words, const std::vector<Method>& methods) {
  std::vector<std::string> fields;
  if (methods.empty()) fields.emplace_back("strategy");
  for (const Method& method : methods)
    for (const auto& [field, value] : method.fields) fields.push_back(field);
  for (const std::string& with : words.also) fields.push_back(with.substr(0, with.find('=')));
  return apart_by(fields, "iteration_ps");
}

}  // namespace

Fields run_fields(RunWords& words) {
  return common_fields(words) +
         Fields{{"timeline_workers", words.timeline_workers,
                 "workers in the timeline, e.g. 0-3,7 (default: 0)"},
                {"timeline_iterations", words.timeline_iterations,
                 "iterations in the timeline, counted with warm-up, e.g. 2-4 (default: the first "
                 "after warm-up)"},
                {"breaks", words.breaks,
                 "what the step loses with each kind of link, and a worker, at half of its rate or "
                 "gone"}};
}

Fields plan_fields(RunWords& words) {
  return common_fields(words) +
         Fields{{"also", words.also,
                 "compare all strategies again with this field changed, e.g. compression=gtopk"},
                {"around", words.around,
                 "how far each strategy moves while start-ups, and times per byte, are up to this "
                 "much shorter and longer: 5%"}};
}

void check_no_timeline(const RunWords& words, const std::string& instead) {
  for (const auto& [option, is_given] :
       {std::pair("--timeline-workers", words.timeline_workers != RunWords().timeline_workers),
        std::pair("--timeline-iterations", !words.timeline_iterations.empty())})
    if (is_given) throw InputError(option, "selects what a timeline records: " + instead);
}

RunQuestion run_question(const RunWords& words) {
  RunQuestion question{asked(words), {}};
  question.experiment = read_experiment(question.resolved);
  return question;
}

RunAnswer answer_run(const RunWords& words, const RunQuestion& question, bool wants_timeline,
                     const Watch& watch) {
  const Experiment& experiment = question.experiment;
  RunAnswer answer;
  if (!wants_timeline) check_no_timeline(words, "give --timeline FILE or --gantt with it");
  if (wants_timeline)
    answer.timeline = timeline_of(experiment, words.timeline_workers, words.timeline_iterations);
  Stopper stopper(watch, limits_of(words.limits));
  answer.result = simulated(experiment, answer.timeline ? &*answer.timeline : nullptr, &stopper);
  answer.warnings = warnings_of(experiment, answer.result);
  if (answer.timeline)
    if (const std::string cut = keep_shown(*answer.timeline); !cut.empty())
      answer.warnings.push_back(cut);
  answer.truth = truth_in(question.resolved, words.cluster, experiment, answer.result);
  if (words.breaks) answer.breaks = breaks_of(question.resolved, stopper);
  return answer;
}

Json to_json(const RunQuestion& question, const RunAnswer& answer) {
  return result_json(question.experiment, answer.result, answer.truth, answer.breaks);
}

std::string name_of(const StrategyPlan& plan) {
  const std::string name = plan.method.empty() ? plan.strategy : plan.method;
  return name + (plan.is_bound ? " (bound)" : "") + (plan.with.empty() ? "" : ", " + plan.with);
}

PlanAnswer answer_plan(const RunWords& words, const Watch& watch) {
  std::vector<Method> methods;
  for (const std::string& text : words.methods) methods.push_back(method_in(text));
  if (!methods.empty()) check_distinct(methods, "--method");
  PlanAnswer answer{plans_of(words, methods, watch), apart_of(words, methods), {}};
  answer.truth = truth_in(resolved_of(words), words.cluster);
  sort_plans(answer.plans, answer.apart);
  if (const std::string& why_not = answer.plans.front().why_not; !why_not.empty())
    throw InputError(words.experiment, why_not);
  return answer;
}

WarningTally warnings_of(const PlanAnswer& answer) {
  WarningTally warnings;
  for (const StrategyPlan& one : answer.plans)
    if (one.why_not.empty()) warnings.add(one.warnings, name_of(one));
  return warnings;
}

Json to_json(const PlanAnswer& answer) {
  return plans_json(answer.plans, answer.apart, answer.truth);
}

}  // namespace sgdsim
