// `sgdsim run`: one experiment. `sgdsim plan`: every strategy on it, side by side.
#include <algorithm>
#include <memory>

#include "app/commands.h"
#include "app/experiment_options.h"
#include "app/field_options.h"
#include "app/interrupt.h"
#include "app/step/gantt.h"
#include "app/usage.h"
#include "sim/core/error.h"
#include "study/step/result_json.h"
#include "study/step/run_question.h"
#include "study/step/timeline_json.h"
#include "study/step/warnings.h"
#include "study/table.h"
#include "study/tie.h"
#include "study/trace_events.h"
#include "study/write_text.h"
#include "topologies/cluster_file.h"

namespace sgdsim {
namespace {

struct RunArguments {
  RunWords words;
  std::string out;
  bool force = false;
  std::string format = "table";
  std::string timeline;
  bool gantt = false;
};

void add_answer_options(CLI::App& command, RunArguments& arguments) {
  command.add_option("-o,--out", arguments.out, "write the result file (JSON)");
  add_force_option(command, arguments.force);
  add_format_option(command, arguments.format);
}

void check_outputs(const RunArguments& arguments, const std::vector<std::string>& inputs,
                   const std::string& schema) {
  OutputGuard guard(inputs, arguments.force);
  guard.claim("--out", arguments.out, {.schema = schema, .beginning = {}});
  guard.claim("--timeline", arguments.timeline, {.schema = {}, .beginning = timeline_beginning});
}

// Once, for people; who gives an alpha rule knows.
void say_what_is_assumed(const Experiment& experiment, Streams streams) {
  const Json collective = experiment.inputs.value("collective", Json::object());
  const bool is_alpha_given =
      collective.is_object() && collective.value("options", Json::object()).contains("alpha");
  if (!experiment.cost.is_algorithm() || is_alpha_given || experiment.fidelity == Fidelity::packet)
    return;
  const std::string assumed = assumed_network(experiment.cluster, "--set cluster.network=tcp");
  if (!assumed.empty()) streams.log << "sgdsim: note: " << printable(assumed) << '\n';
}

void run(const RunArguments& arguments, Streams streams) {
  if (arguments.gantt && arguments.format != "table")
    throw InputError("--gantt", "is for people; it does not go with --format " + arguments.format);
  const bool has_table = arguments.format != "json";
  check_apart(arguments.timeline, has_table || arguments.out.empty() || arguments.out == "-",
              "add --format json --out FILE");
  const RunQuestion question = run_question(arguments.words);
  check_outputs(arguments, question.resolved.inputs, "sgdsim/result/1");
  Interrupt interrupt;
  const RunAnswer answer =
      answer_run(arguments.words, question, !arguments.timeline.empty() || arguments.gantt,
                 [&] { interrupt.throw_if_asked(); });
  if (!arguments.timeline.empty())
    write_text(timeline_json(question.experiment, *answer.timeline), arguments.timeline,
               streams.out);
  for (const std::string& warning : answer.warnings)
    streams.log << "sgdsim: warning: " << warning << '\n';
  if (arguments.format == "table") say_what_is_assumed(question.experiment, streams);
  const bool json_out = arguments.format == "json";
  if (json_out || !arguments.out.empty()) {
    const std::string text = to_json(question, answer).dump(json_out ? 2 : 1) + "\n";
    if (!arguments.out.empty())
      write_text(text, arguments.out, streams.out);
    else
      streams.out << text;
  }
  if (!json_out && answer.truth) print_recorded(streams.out, *answer.truth);
  if (!json_out) print_result(streams.out, question.experiment, answer.result);
  if (!json_out && answer.breaks) print(streams.out, *answer.breaks);
  if (arguments.gantt) streams.out << '\n' << gantt_text(*answer.timeline, standard_output());
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
            rounded(100 * (next->compared_us() / best.compared_us() - 1), 3) +
            " % behind the first.\n";
  for (const StrategyPlan& plan : plans)
    if (plan.is_bound && plan.why_not.empty())
      text += name_of(plan) + ": " + bound_text(plan.compared_us() > best.compared_us()) +
              "; it takes " + rounded(100 * plan.compared_us() / best.compared_us(), 4) +
              " % of the time of the first.\n";
  return text;
}

void print_plans(std::ostream& out, const PlanAnswer& answer) {
  const auto& [plans, apart, truth] = answer;
  if (truth) print_recorded(out, *truth);
  const StrategyPlan& best = plans.front();
  std::vector<std::string> titles = {"strategy", "iteration", "exposed",
                                     "speed-up", "messages",  "behind the best"};
  const bool is_by_samples = have_unlike_samples(plans);
  if (is_by_samples) titles.insert(titles.begin() + 1, "samples");
  if (best.around) titles.push_back("within " + rounded(100 * best.around->part, 3) + " %");
  Table table(titles);
  for (const StrategyPlan& plan : plans) {
    if (!plan.why_not.empty()) {
      std::vector<std::string> cells = {name_of(plan), "-", "-", "-", "-", plan.why_not};
      if (is_by_samples) cells.insert(cells.begin() + 1, "-");
      if (best.around) cells.emplace_back("-");
      table.add(cells);
      continue;
    }
    const double behind = 100 * (plan.compared_us() / best.compared_us() - 1);
    std::vector<std::string> cells = {
        name_of(plan),
        short_duration(plan.metrics.mean_us, 5),
        short_duration(plan.result.mean.exposed.us(), 4),
        rounded(plan.metrics.speedup),
        std::to_string(plan.result.messages.size()),
        is_tie(plan.compared_us(), best.compared_us()) ? "-" : signed_percent(behind)};
    if (is_by_samples) cells.insert(cells.begin() + 1, std::to_string(plan.samples));
    if (plan.around) cells.push_back(range_text(*plan.around, plan.metrics.mean_us));
    table.add(cells);
  }
  table.print(out);
  out << '\n' << verdict_on(plans, apart);
  if (is_by_samples)
    out << "By time for as many samples, because steps have different numbers of them.\n";
}

void plan(const RunArguments& arguments, Streams streams) {
  const RunWords& words = arguments.words;
  check_outputs(arguments, {words.experiment, words.cluster, words.wires.traffic}, "sgdsim/plan/1");
  Interrupt interrupt;
  const PlanAnswer answer = answer_plan(words, [&] { interrupt.throw_if_asked(); });
  warnings_of(answer).print(streams.log, "plans");
  give_answer(to_json(answer), arguments.out, arguments.format, streams,
              [&] { print_plans(streams.out, answer); });
}

}  // namespace

void add_run_command(CLI::App& program, Streams streams) {
  CLI::App* command = program.add_subcommand("run", "Simulate the training step of an experiment.");
  auto arguments = std::make_shared<RunArguments>();
  add_options(*command, run_fields(arguments->words));
  add_answer_options(*command, *arguments);
  command->add_option("--timeline", arguments->timeline,
                      "write the timeline as a Chrome trace, for Perfetto");
  command->add_flag("--gantt", arguments->gantt,
                    "print the timeline as text: computation and communication");
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
  add_options(*command, plan_fields(arguments->words));
  add_answer_options(*command, *arguments);
  command->footer(std::string("Examples:\n  sgdsim plan resnet50_v100 -c 25gbe_16\n"
                              "  sgdsim plan app/experiments/googlenet_k80.json --also "
                              "compression=truncate16\n") +
                  which_command);
  command->callback([arguments, streams] { plan(*arguments, streams); });
}

}  // namespace sgdsim
