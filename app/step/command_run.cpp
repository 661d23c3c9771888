// `sgdsim run`: one experiment. `sgdsim plan`: every strategy on it, side by side.
#include <algorithm>
#include <iterator>
#include <memory>

#include "app/commands.h"
#include "app/experiment_options.h"
#include "app/interrupt.h"
#include "app/limits.h"
#include "app/step/experiment.h"
#include "app/step/gantt.h"
#include "app/step/plan.h"
#include "app/step/recorded.h"
#include "app/step/result_json.h"
#include "app/step/simulated.h"
#include "app/step/timeline_json.h"
#include "app/step/warnings.h"
#include "app/table.h"
#include "app/tie.h"
#include "app/trace_events.h"
#include "app/transport_choice.h"
#include "app/usage.h"
#include "app/write_text.h"
#include "sim/core/error.h"

namespace sgdsim {
namespace {

struct RunArguments {
  std::string experiment;
  std::string cluster;
  std::string out;
  bool force = false;
  std::string fidelity;
  std::string format = "table";
  std::vector<std::string> settings;
  std::string transport;
  std::string traffic;
  std::string timeline;
  std::string timeline_workers = "0";
  std::string timeline_iterations;
  bool gantt = false;
  LimitArguments limits;
  std::vector<std::string> methods;
  std::vector<std::string> also;  // plan
  std::string around;             // plan
};

void add_common_options(CLI::App& command, RunArguments& arguments) {
  add_experiment(command, "EXPERIMENT",
                 "an experiment file, a profile, or a trace (a file or a name) with --cluster; - "
                 "is standard input",
                 arguments.experiment, arguments.cluster);
  add_method_option(command, arguments.methods);
  command.add_option("-o,--out", arguments.out, "write the result file (JSON)");
  add_force_option(command, arguments.force);
  make_repeatable(command.add_option("--set", arguments.settings,
                                     "change a field: cluster.nodes=128, strategy=optimal"));
  command.add_option("--fidelity", arguments.fidelity, "closed_form, message, flow or packet");
  add_transport_option(command, arguments.transport);
  add_traffic_option(command, arguments.traffic);
  add_limit_options(command, arguments.limits);
  command.add_option("--format", arguments.format, "table (default) or json")
      ->check(one_of("format", {"table", "json"}));
}

// All that changes the experiment, as after --set.
std::vector<std::string> settings_of(const RunArguments& arguments) {
  std::vector<std::string> settings = arguments.settings;
  if (!arguments.fidelity.empty()) {
    fidelity_named(arguments.fidelity, "--fidelity");
    settings.push_back("fidelity=" + arguments.fidelity);
  }
  if (!arguments.transport.empty()) {
    const Json transport = transport_in(arguments.transport);
    check_transport(Value(transport, "--transport", ""));
    settings.push_back("transport=" + transport.dump());
  }
  if (!arguments.traffic.empty())
    settings.push_back("traffic=" + traffic_field(arguments.traffic, "--traffic"));
  return settings;
}

ResolvedExperiment resolved_of(const RunArguments& arguments) {
  ResolvedExperiment resolved =
      resolve_experiment(arguments.experiment, settings_of(arguments), arguments.cluster);
  const Json fidelity = resolved.json.value("fidelity", Json());
  if (!arguments.transport.empty() && fidelity != "packet")
    throw InputError("--transport", "has no effect without --fidelity packet");
  check_traffic_option(arguments.traffic, fidelity == "flow" || fidelity == "packet");
  resolved.inputs.push_back(arguments.traffic);
  return resolved;
}

ResolvedExperiment resolved_of(RunArguments arguments, const Method& method) {
  const std::vector<std::string> fields = settings_of(method);
  arguments.settings.insert(arguments.settings.begin(), fields.begin(), fields.end());
  ResolvedExperiment resolved = resolved_of(arguments);
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

void check_outputs(const RunArguments& arguments, const std::vector<std::string>& inputs,
                   const std::string& schema) {
  OutputGuard guard(inputs, arguments.force);
  guard.claim("--out", arguments.out, {.schema = schema, .beginning = {}});
  guard.claim("--timeline", arguments.timeline, {.schema = {}, .beginning = timeline_beginning});
}

StepResult simulated_or_stopped(const Experiment& experiment, Timeline* timeline,
                                const LimitArguments& limits) {
  Interrupt interrupt;
  Stopper stopper([&] { interrupt.throw_if_asked(); }, limits_of(limits));
  return simulated(experiment, timeline, &stopper);
}

ResolvedExperiment asked(const RunArguments& arguments) {
  if (arguments.methods.empty()) return resolved_of(arguments);
  if (arguments.methods.size() > 1)
    throw InputError("--method", "run simulates one; sgdsim plan compares several");
  return resolved_of(arguments, method_in(arguments.methods.front()));
}

void run(const RunArguments& arguments, Streams streams) {
  const ResolvedExperiment resolved = asked(arguments);
  check_outputs(arguments, resolved.inputs, "sgdsim/result/1");
  const Experiment experiment = read_experiment(resolved);
  const bool wants_timeline = !arguments.timeline.empty() || arguments.gantt;
  if (arguments.gantt && arguments.format != "table")
    throw InputError("--gantt", "is for people; it does not go with --format " + arguments.format);
  Timeline timeline;
  if (wants_timeline)
    timeline = timeline_of(experiment, arguments.timeline_workers, arguments.timeline_iterations);
  const StepResult result =
      simulated_or_stopped(experiment, wants_timeline ? &timeline : nullptr, arguments.limits);
  if (!arguments.timeline.empty())
    write_text(timeline_json(experiment, timeline), arguments.timeline, streams.out);
  for (const std::string& warning : warnings_of(experiment, result))
    streams.log << "sgdsim: warning: " << warning << '\n';
  const auto truth = truth_in(resolved, arguments.cluster, experiment, result);
  const bool json_out = arguments.format == "json";
  if (json_out || !arguments.out.empty()) {
    Json json = result_json(experiment, result);
    if (truth) json["recorded"] = recorded_json(*truth);
    const std::string text = json.dump(json_out ? 2 : 1) + "\n";
    if (!arguments.out.empty())
      write_text(text, arguments.out, streams.out);
    else
      streams.out << text;
  }
  if (!json_out && truth) print_recorded(streams.out, *truth);
  if (!json_out) print_result(streams.out, experiment, result);
  if (arguments.gantt) streams.out << '\n' << gantt_text(timeline, standard_output());
}

// All plans under one more setting: those of every strategy, or of every method.
class Planner {
 public:
  Planner(const RunArguments& arguments, std::vector<Method> methods, Stopper* stopper)
      : arguments_(arguments), methods_(std::move(methods)), stopper_(stopper) {}

  void add(const std::string& with) {
    RunArguments changed = arguments_;
    if (!with.empty()) changed.settings.push_back(with);
    if (methods_.empty())
      take(resolved_of(changed), settings_of(changed), [&](const ResolvedExperiment& resolved) {
        return sgdsim::plans_of(read_experiment(resolved), with, stopper_);
      });
    for (const Method& method : methods_) {
      std::vector<std::string> settings = settings_of(method);
      const std::vector<std::string> given = settings_of(changed);
      settings.insert(settings.end(), given.begin(), given.end());
      take(resolved_of(changed, method), settings, [&](const ResolvedExperiment& resolved) {
        return std::vector{plan_of(read_experiment(resolved), method, with, stopper_)};
      });
    }
  }
  std::vector<StrategyPlan> plans() { return std::move(plans_); }

 private:
  template <class Answer>
  void take(const ResolvedExperiment& resolved, const std::vector<std::string>& settings,
            const Answer& answer) {
    std::vector<StrategyPlan> more = answer(resolved);
    if (!arguments_.around.empty())
      move_constants(resolved, part_around(arguments_.around, "--around"), more, answer);
    name_commands(more, arguments_.experiment, arguments_.cluster, settings);
    std::move(more.begin(), more.end(), std::back_inserter(plans_));
  }

  const RunArguments& arguments_;
  std::vector<Method> methods_;
  Stopper* stopper_;
  std::vector<StrategyPlan> plans_;
};

std::vector<StrategyPlan> plans_of(const RunArguments& arguments,
                                   const std::vector<Method>& methods) {
  Interrupt interrupt;
  Stopper stopper([&] { interrupt.throw_if_asked(); }, limits_of(arguments.limits));
  Planner planner(arguments, methods, &stopper);
  planner.add("");
  for (const std::string& with : arguments.also) planner.add(with);
  return planner.plans();
}

// The step with its own strategy, beside what was recorded.
std::optional<RecordedTruth> truth_in(const ResolvedExperiment& resolved,
                                      const std::string& cluster) {
  if (!resolved.recorded) return std::nullopt;
  const Experiment experiment = read_experiment(resolved);
  return truth_in(resolved, cluster, experiment, simulate_step(experiment.question()));
}

// What plans differ in: the strategy, or what methods and --also set.
Apart apart_of(const RunArguments& arguments, const std::vector<Method>& methods) {
  std::vector<std::string> fields;
  if (methods.empty()) fields.emplace_back("strategy");
  for (const Method& method : methods)
    for (const auto& [field, value] : method.fields) fields.push_back(field);
  for (const std::string& with : arguments.also) fields.push_back(with.substr(0, with.find('=')));
  return apart_by(fields, "iteration_ps");
}

std::string name_of(const StrategyPlan& plan) {
  const std::string name = plan.method.empty() ? plan.strategy : plan.method;
  return name + (plan.is_bound ? " (bound)" : "") + (plan.with.empty() ? "" : ", " + plan.with);
}

// "-0.3 to +15.8 %" of the plan's own time.
std::string range_text(const Around& around, double usual_us) {
  return "-" + rounded(100 * (1 - around.least_us / usual_us), 3) + " to +" +
         rounded(100 * (around.most_us / usual_us - 1), 3) + " %";
}

std::string signed_percent(double percent) {
  return (percent < 0 ? "" : "+") + rounded(percent, 3) + " %";
}

// Who wins, and by how much; never a bound.
std::string verdict_on(const std::vector<StrategyPlan>& plans, const Apart& apart) {
  const StrategyPlan& best = plans.front();
  const auto others =
      std::count_if(plans.begin(), plans.end(), [](const auto& plan) { return plan.is_winner; }) -
      1;
  const auto next = std::find_if(plans.begin(), plans.end(), [](const StrategyPlan& plan) {
    return plan.can_win() && !plan.is_winner;
  });
  const std::string error =
      apart.error > 0 ? "within " + error_text(apart) : "equal to a millionth";
  const auto own =
      std::find_if(plans.begin(), plans.end(), [](const auto& plan) { return plan.is_own; });
  std::string text;
  if (own != plans.begin() && own != plans.end() && own->is_winner && apart.error > 0)
    text = "Nothing is surely better than " + name_of(*own) + ", which it has; the likeliest is " +
           name_of(best) + ". Winners are " + error + ".\n";
  else if (others > 0 && next == plans.end() && apart.error > 0)
    text = "Nothing is surely better; the likeliest is " + name_of(best) + ": the others are " +
           error + ".\n";
  else if (others > 0)
    text = name_of(best) + " and " + std::to_string(others) + (others == 1 ? " other" : " others") +
           " win together, " + error + ".\n";
  else if (next != plans.end())
    text = name_of(best) + " wins.\n";
  if (next != plans.end())
    text += name_of(*next) + " is the next, " +
            rounded(100 * (next->metrics.mean_us / best.metrics.mean_us - 1), 3) +
            " % behind the first.\n";
  for (const StrategyPlan& plan : plans)
    if (plan.is_bound && plan.why_not.empty())
      text += name_of(plan) + ": no program reaches it; it takes " +
              rounded(100 * plan.metrics.mean_us / best.metrics.mean_us, 4) +
              " % of the time of the first.\n";
  return text;
}

void print_plans(std::ostream& out, const std::vector<StrategyPlan>& plans, const Apart& apart) {
  const StrategyPlan& best = plans.front();
  std::vector<std::string> titles = {"strategy", "iteration", "exposed",
                                     "speed-up", "messages",  "behind the best"};
  if (best.around) titles.push_back("within " + rounded(100 * best.around->part, 3) + " %");
  Table table(titles);
  for (const StrategyPlan& plan : plans) {
    if (!plan.why_not.empty()) {
      std::vector<std::string> cells = {name_of(plan), "-", "-", "-", "-", plan.why_not};
      if (best.around) cells.emplace_back("-");
      table.add(cells);
      continue;
    }
    const double behind = 100 * (plan.metrics.mean_us / best.metrics.mean_us - 1);
    std::vector<std::string> cells = {
        name_of(plan),
        short_duration(plan.metrics.mean_us, 5),
        short_duration(plan.result.mean.exposed.us(), 4),
        rounded(plan.metrics.speedup),
        std::to_string(plan.result.messages.size()),
        is_tie(plan.metrics.mean_us, best.metrics.mean_us) ? "-" : signed_percent(behind)};
    if (plan.around) cells.push_back(range_text(*plan.around, plan.metrics.mean_us));
    table.add(cells);
  }
  table.print(out);
  out << '\n' << verdict_on(plans, apart);
}

void plan(const RunArguments& arguments, Streams streams) {
  std::vector<Method> methods;
  for (const std::string& text : arguments.methods) methods.push_back(method_in(text));
  if (!methods.empty()) check_distinct(methods, "--method");
  check_outputs(arguments, {arguments.experiment, arguments.cluster, arguments.traffic},
                "sgdsim/plan/1");
  const Apart apart = apart_of(arguments, methods);
  const auto truth = truth_in(resolved_of(arguments), arguments.cluster);
  std::vector<StrategyPlan> plans = plans_of(arguments, methods);
  sort_plans(plans, apart);
  if (!plans.front().why_not.empty()) throw InputError(arguments.experiment, plans.front().why_not);
  WarningTally warnings;
  for (const StrategyPlan& one : plans)
    if (one.why_not.empty()) warnings.add(one.warnings, name_of(one));
  warnings.print(streams.log, "plans");
  Json json = plans_json(plans, apart);
  if (truth) json["recorded"] = recorded_json(*truth);
  give_answer(json, arguments.out, arguments.format, streams, [&] {
    if (truth) print_recorded(streams.out, *truth);
    print_plans(streams.out, plans, apart);
  });
}

}  // namespace

void add_run_command(CLI::App& program, Streams streams) {
  CLI::App* command = program.add_subcommand("run", "Simulate the training step of an experiment.");
  auto arguments = std::make_shared<RunArguments>();
  add_common_options(*command, *arguments);
  command->add_option("--timeline", arguments->timeline,
                      "write the timeline as a Chrome trace, for Perfetto");
  command->add_flag("--gantt", arguments->gantt,
                    "print the timeline as text: computation and communication");
  command->add_option("--timeline-workers", arguments->timeline_workers,
                      "workers in the timeline, e.g. 0-3,7 (default: 0)");
  command->add_option(
      "--timeline-iterations", arguments->timeline_iterations,
      "iterations in the timeline, counted with warm-up, e.g. 2-4 (default: the first after "
      "warm-up)");
  command->footer(
      std::string("Examples:\n  sgdsim run resnet50_v100 -c 25gbe_16\n"
                  "  sgdsim run app/experiments/googlenet_k80.json --set cluster.nodes=64\n") +
      which_command);
  command->callback([arguments, streams] { run(*arguments, streams); });
}

void add_plan_command(CLI::App& program, Streams streams) {
  CLI::App* command =
      program.add_subcommand("plan", "Compare all strategies on one experiment, best first.");
  auto arguments = std::make_shared<RunArguments>();
  add_common_options(*command, *arguments);
  make_repeatable(command->add_option(
      "--also", arguments->also,
      "compare all strategies again with this field changed, e.g. compression=gtopk"));
  command->add_option("--around", arguments->around,
                      "how far each strategy moves while start-ups, and times per byte, are up to "
                      "this much shorter and longer: 5%");
  command->footer(std::string("Examples:\n  sgdsim plan resnet50_v100 -c 25gbe_16\n"
                              "  sgdsim plan app/experiments/googlenet_k80.json --also "
                              "compression=truncate16\n") +
                  which_command);
  command->callback([arguments, streams] { plan(*arguments, streams); });
}

}  // namespace sgdsim
