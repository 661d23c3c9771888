// `sgdsim run`: one experiment. `sgdsim plan`: every strategy on it, side by side.
#include <algorithm>
#include <iterator>
#include <memory>

#include "app/commands.h"
#include "app/interrupt.h"
#include "app/limits.h"
#include "app/step/experiment.h"
#include "app/step/gantt.h"
#include "app/step/plan.h"
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
  std::string timeline;
  std::string timeline_workers = "0";
  std::string timeline_iterations;
  bool gantt = false;
  LimitArguments limits;
  std::vector<std::string> also;  // plan
};

void add_common_options(CLI::App& command, RunArguments& arguments) {
  command
      .add_option("EXPERIMENT", arguments.experiment,
                  "an experiment file, or a trace with --cluster; - is standard input")
      ->required();
  command.add_option("-c,--cluster", arguments.cluster,
                     "cluster file, in place of the experiment's");
  make_repeatable(command.add_option("--set", arguments.settings,
                                     "change a field: cluster.nodes=128, strategy=optimal"));
  command.add_option("--fidelity", arguments.fidelity, "closed_form, message, flow or packet");
  add_transport_option(command, arguments.transport);
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
  return settings;
}

ResolvedExperiment resolved_of(const RunArguments& arguments) {
  ResolvedExperiment resolved =
      resolve_experiment(arguments.experiment, settings_of(arguments), arguments.cluster);
  if (!arguments.transport.empty() && resolved.json.value("fidelity", Json()) != "packet")
    throw InputError("--transport", "has no effect without --fidelity packet");
  return resolved;
}

void check_outputs(const RunArguments& arguments, const std::vector<std::string>& inputs) {
  OutputGuard guard(inputs, arguments.force);
  guard.claim("--out", arguments.out, {.schema = "sgdsim/result/1", .beginning = {}});
  guard.claim("--timeline", arguments.timeline, {.schema = {}, .beginning = timeline_beginning});
}

StepResult simulated_or_stopped(const Experiment& experiment, Timeline* timeline,
                                const LimitArguments& limits) {
  Interrupt interrupt;
  Stopper stopper([&] { interrupt.throw_if_asked(); }, limits_of(limits));
  return simulated(experiment, timeline, &stopper);
}

void run(const RunArguments& arguments, Streams streams) {
  const ResolvedExperiment resolved = resolved_of(arguments);
  check_outputs(arguments, resolved.inputs);
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
  const bool json_out = arguments.format == "json";
  if (json_out || !arguments.out.empty()) {
    const std::string text = result_json(experiment, result).dump(json_out ? 2 : 1) + "\n";
    if (!arguments.out.empty())
      write_text(text, arguments.out, streams.out);
    else
      streams.out << text;
  }
  if (!json_out) print_result(streams.out, experiment, result);
  if (arguments.gantt) streams.out << '\n' << gantt_text(timeline, standard_output());
}

std::vector<StrategyPlan> plans_of(const RunArguments& arguments) {
  std::vector<StrategyPlan> plans;
  Interrupt interrupt;
  Stopper stopper([&] { interrupt.throw_if_asked(); }, limits_of(arguments.limits));
  auto add = [&](const std::string& with) {
    RunArguments changed = arguments;
    if (!with.empty()) changed.settings.push_back(with);
    std::vector<StrategyPlan> more =
        plans_of(read_experiment(resolved_of(changed)), with, &stopper);
    name_commands(more, arguments.experiment, arguments.cluster, settings_of(changed));
    std::move(more.begin(), more.end(), std::back_inserter(plans));
  };
  add("");
  for (const std::string& with : arguments.also) add(with);
  sort_plans(plans);
  return plans;
}

std::string name_of(const StrategyPlan& plan) {
  return plan.with.empty() ? plan.strategy : plan.strategy + ", " + plan.with;
}

void print_plans(std::ostream& out, const std::vector<StrategyPlan>& plans) {
  const StrategyPlan& best = plans.front();
  Table table({"strategy", "iteration", "exposed", "speed-up", "messages", "behind the best"});
  for (const StrategyPlan& plan : plans) {
    if (!plan.why_not.empty()) {
      table.add({name_of(plan), "-", "-", "-", "-", plan.why_not});
      continue;
    }
    const double behind = 100 * (plan.metrics.mean_us / best.metrics.mean_us - 1);
    table.add({name_of(plan), short_duration(plan.metrics.mean_us, 5),
               short_duration(plan.result.mean.exposed.us(), 4), rounded(plan.metrics.speedup),
               std::to_string(plan.result.messages.size()),
               is_tie(plan.metrics.mean_us, best.metrics.mean_us)
                   ? "-"
                   : "+" + rounded(behind, 3) + " %"});
  }
  table.print(out);
  const auto next = std::find_if(plans.begin(), plans.end(), [&](const StrategyPlan& plan) {
    return plan.why_not.empty() && !is_tie(plan.metrics.mean_us, best.metrics.mean_us);
  });
  const auto ties = std::count_if(plans.begin() + 1, next,
                                  [](const StrategyPlan& plan) { return plan.why_not.empty(); });
  out << '\n' << name_of(best);
  if (ties == 1) out << " and " << name_of(plans[1]) << " win together";
  if (ties > 1) out << " and " << ties << " others win together";
  if (ties == 0) out << " wins";
  if (next != plans.end())
    out << ", " << rounded(100 * (next->metrics.mean_us / best.metrics.mean_us - 1), 3)
        << " % ahead of " << name_of(*next);
  out << ".\n";
}

void plan(const RunArguments& arguments, Streams streams) {
  const std::vector<StrategyPlan> plans = plans_of(arguments);
  if (!plans.front().why_not.empty()) throw InputError(arguments.experiment, plans.front().why_not);
  WarningTally warnings;
  for (const StrategyPlan& one : plans)
    if (one.why_not.empty()) warnings.add(one.warnings, name_of(one));
  warnings.print(streams.log, "plans");
  if (arguments.format == "table") return print_plans(streams.out, plans);
  streams.out << plans_json(plans).dump(2) << '\n';
}

}  // namespace

void add_run_command(CLI::App& program, Streams streams) {
  CLI::App* command = program.add_subcommand("run", "Simulate the training step of an experiment.");
  auto arguments = std::make_shared<RunArguments>();
  add_common_options(*command, *arguments);
  command->add_option("-o,--out", arguments->out, "write the result file (JSON)");
  add_force_option(*command, arguments->force);
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
      "Example:\n  sgdsim run app/experiments/googlenet_k80.json --set cluster.nodes=64");
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
  command->footer(
      "Example:\n  sgdsim plan app/experiments/googlenet_k80.json --also compression=truncate16");
  command->callback([arguments, streams] { plan(*arguments, streams); });
}

}  // namespace sgdsim
