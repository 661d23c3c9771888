// `sgdsim export`: a cluster's graph, a step's schedule or a trace, for other programs.
#include <memory>
#include <set>
#include <sstream>
#include <string>

#include "app/commands.h"
#include "app/export/chakra_export.h"
#include "app/export/trace_exports.h"
#include "app/usage.h"
#include "models/step/step_schedule.h"
#include "sim/core/error.h"
#include "sim/core/json.h"
#include "study/shipped_inputs.h"
#include "study/step/experiment.h"
#include "study/step/override.h"
#include "study/write_text.h"
#include "topologies/cluster_file.h"
#include "topologies/export.h"
#include "traces/goal.h"

namespace sgdsim {
namespace {

struct ExportArguments {
  std::string cluster;
  std::string out = "-";
  std::vector<std::string> settings;
  bool force = false;
};

ClusterFile cluster_of(const Json& json, const ExportArguments& arguments) {
  try {
    return read_cluster(Value(json, arguments.cluster, ""));
  } catch (const InputError& error) {
    blame_setting(error, arguments.settings, {}, arguments.cluster + ": ");
    throw;
  }
}

// What stands above the nodes and edges: a file of the same graph begins with it too.
std::string head_of(const std::string& text) {
  const std::size_t graph = text.find("<graph id");
  return text.substr(0, graph != std::string::npos ? graph : text.find('\n') + 1);
}

struct GoalArguments {
  std::string experiment;
  std::string cluster;
  std::string out = "-";
  std::vector<std::string> settings;
  bool exact = false;
  bool force = false;
};

void export_goal(const GoalArguments& arguments, Streams streams) {
  constexpr std::size_t most_operations = 20'000'000;  // some gigabyte of text
  const ResolvedExperiment resolved =
      resolve_experiment(arguments.experiment, arguments.settings, arguments.cluster);
  const Experiment experiment = read_experiment(resolved);
  std::ostringstream text;
  std::vector<std::string> notes;
  try {
    const StepQuestion question = experiment.question();
    const StepSchedule schedule(question);
    notes = schedule.notes();
    write_goal_head(text, static_cast<uint32_t>(schedule.ranks()));
    for (int rank = 0; rank < schedule.ranks(); ++rank) {
      const RankWork work = schedule.of_rank(rank);
      const std::size_t all = work.operations.size() * static_cast<std::size_t>(schedule.ranks());
      if (rank == 0 && all > most_operations)
        throw InputError("", "some " + std::to_string(all) + " operations; the most are " +
                                 std::to_string(most_operations));
      write_goal_rank(text, static_cast<uint32_t>(rank), work.operations, work.requirements,
                      arguments.exact);
    }
  } catch (const InputError& error) {
    throw InputError(arguments.experiment, error.what());
  }
  OutputGuard(resolved.inputs, arguments.force)
      .claim("--out", arguments.out, {.schema = {}, .beginning = "num_ranks "});
  write_text(std::move(text).str(), arguments.out, streams.out);
  for (const std::string& note : notes) streams.log << "sgdsim: note: " << note << '\n';
}

void add_goal(CLI::App& command, Streams streams) {
  CLI::App* one = command.add_subcommand(
      "goal", "One iteration of an experiment as a GOAL schedule of sends and receives.");
  auto arguments = std::make_shared<GoalArguments>();
  one->add_option("EXPERIMENT", arguments->experiment,
                  "an experiment file, or with --cluster a trace (a file or a name)")
      ->required();
  one->add_option("-c,--cluster", arguments->cluster,
                  "cluster in place of the experiment's: a file or a name");
  one->add_option("-o,--out", arguments->out, "output file (default: standard output)");
  one->add_flag("--exact", arguments->exact,
                "times with decimals, to the picosecond (not every program reads them)");
  add_force_option(*one, arguments->force);
  make_repeatable(one->add_option("--set", arguments->settings,
                                  "change a field of the experiment: cluster.nodes=4"));
  one->footer(
      "Example:\n  sgdsim export goal app/experiments/googlenet_k80.json --set cluster.nodes=4 "
      "--out step.goal");
  one->callback([arguments, streams] { export_goal(*arguments, streams); });
}

// Fields of a cluster that change times, and for which edges with a latency and a bandwidth have no
// place.
bool changes_times(const std::string& name, const Json& value) {
  if (name == "efficiency") return value.is_array();
  if (name == "forwards") return value == Json(false);
  if (name == "staged") return value == Json(true);
  static const std::set<std::string> others = {"rendezvous", "segments", "start", "switch_latency"};
  const bool is_nothing = value.is_string() && value.get<std::string>().starts_with("0 ");
  return others.contains(name) && !is_nothing;
}

void find_lost(const Json& json, std::set<std::string>& lost) {
  if (json.is_array())
    for (const Json& item : json) find_lost(item, lost);
  if (!json.is_object()) return;
  for (const auto& [name, value] : json.items()) {
    if (changes_times(name, value)) lost.insert(name);
    find_lost(value, lost);
  }
}

void note_lost(const Json& json, Streams streams) {
  std::set<std::string> lost;
  find_lost(json, lost);
  std::string names;
  for (const std::string& name : lost) names += (names.empty() ? "" : ", ") + name;
  if (!names.empty())
    streams.log << "sgdsim: note: not in the graph, and changes times: " << names << '\n';
}

}  // namespace

void add_export_command(CLI::App& program, Streams streams) {
  CLI::App* command =
      program.add_subcommand("export", "Write clusters, steps and traces for other programs.");
  command->require_subcommand(1);
  command->footer("Example:\n  sgdsim export dot topologies/data/fat_tree_k8.json | dot -Tsvg");
  add_goal(*command, streams);
  add_chakra_export(*command, streams);
  add_trace_exports(*command, streams);
  for (const GraphFormat& format : graph_formats) {
    CLI::App* one =
        command->add_subcommand(std::string(format.name), std::string(format.description));
    auto arguments = std::make_shared<ExportArguments>();
    one->add_option("CLUSTER", arguments->cluster, "a cluster file")->required();
    one->add_option("-o,--out", arguments->out, "output file (default: standard output)");
    add_force_option(*one, arguments->force);
    make_repeatable(
        one->add_option("--set", arguments->settings, "change a field of the cluster: nodes=4"));
    one->footer("Example:\n  sgdsim export " + std::string(format.name) +
                " topologies/data/dgx_h100_4.json --set nodes=1 --out box." +
                std::string(format.name));
    one->callback([arguments, format, streams] {
      const Json json = cluster_json(arguments->cluster, arguments->settings);
      const ClusterFile cluster = cluster_of(json, *arguments);
      const std::string text = format.write(cluster.graph(), cluster.cluster.name);
      OutputGuard({arguments->cluster}, arguments->force)
          .claim("--out", arguments->out, {.schema = {}, .beginning = head_of(text)});
      write_text(text, arguments->out, streams.out);
      note_lost(json, streams);
    });
  }
}

}  // namespace sgdsim
