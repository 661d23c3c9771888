// Collectives stay whole, so that the program that plays the trace chooses how they are done.
#include "app/export/chakra_export.h"

#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>

#include "app/usage.h"
#include "models/step/step_schedule.h"
#include "sim/core/error.h"
#include "sim/core/json.h"
#include "study/step/experiment.h"
#include "study/write_text.h"
#include "traces/chakra.h"

namespace sgdsim {
namespace {

constexpr int most_ranks_written = 65'536;
constexpr std::size_t most_nodes_written = 50'000'000;  // some gigabytes
constexpr char schema_version[] = "0.0.4";
constexpr char group_of_all[] = "0";

ChakraCollective collective_of(Operation operation) {
  switch (operation) {
    case Operation::broadcast:
      return ChakraCollective::broadcast;
    case Operation::reduce:
      return ChakraCollective::reduce;
    case Operation::allreduce:
      return ChakraCollective::all_reduce;
    case Operation::reduce_scatter:
      return ChakraCollective::reduce_scatter;
    case Operation::allgather:
      return ChakraCollective::all_gather;
    case Operation::alltoall:
      return ChakraCollective::all_to_all;
  }
  return ChakraCollective::all_reduce;
}

// What a rank puts in: of an all-gather its own part.
int64_t size_of(const StepNode& node, int ranks) {
  if (node.operation != Operation::allgather) return node.size.count();
  if (node.size.count() % ranks != 0)
    throw InputError("", "an all-gather of " + std::to_string(node.size.count()) +
                             " B has no equal part for each of " + std::to_string(ranks) +
                             " ranks, which a trace would have to say");
  return node.size.count() / ranks;
}

class TraceWriter {
 public:
  TraceWriter(const StepSchedule& schedule, const Trace& trace)
      : schedule_(schedule), trace_(trace) {}

  std::string of_rank(int rank) const {
    const std::vector<StepNode> nodes = schedule_.nodes_of(rank);
    const std::size_t all = nodes.size() * static_cast<std::size_t>(schedule_.ranks());
    if (all > most_nodes_written)
      throw InputError("", "some " + std::to_string(all) + " nodes; the most are " +
                               std::to_string(most_nodes_written));
    std::string text;
    write_chakra_head(text, schema_version);
    Duration computed;
    int64_t written_us = 0;
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      ChakraNode node = node_of(nodes[i]);
      node.id = i;
      // Whole microseconds, so that all computing up to here is never off by more than a half.
      computed += nodes[i].length;
      const int64_t now_us = (computed + Duration::ns(500)).ps() / Duration::us(1).ps();
      node.duration_us = static_cast<uint64_t>(now_us - written_us);
      written_us = now_us;
      write_chakra_node(text, node);
    }
    return text;
  }

 private:
  ChakraNode node_of(const StepNode& one) const {
    ChakraNode node;
    node.name = name_of(one);
    node.type = ChakraType::compute;
    node.is_cpu_op = false;
    node.data_waits.assign(one.waits.begin(), one.waits.end());
    if (one.kind != StepNode::Kind::exchange) return node;
    node.type = ChakraType::collective;
    node.collective = static_cast<int64_t>(collective_of(one.operation));
    node.size_B = size_of(one, schedule_.ranks());
    node.group = group_of_all;
    return node;
  }
  const std::string& layer(int number) const {
    return trace_.layers[static_cast<std::size_t>(number)].name;
  }
  std::string name_of(const StepNode& one) const {
    switch (one.kind) {
      case StepNode::Kind::forward:
        return layer(one.number) + " forward";
      case StepNode::Kind::backward:
        return layer(one.number) + " backward";
      case StepNode::Kind::compress:
        return "compress message " + std::to_string(one.number);
      case StepNode::Kind::update:
        return "update";
      case StepNode::Kind::exchange:
        break;
    }
    const PlannedMessage& planned = schedule_.plan().messages[static_cast<std::size_t>(one.number)];
    const std::string first = layer(planned.first_layer);
    const std::string layers = planned.first_layer == planned.last_layer
                                   ? first
                                   : layer(planned.last_layer) + " to " + first;
    return std::string(sgdsim::name_of(one.operation)) + " " + std::to_string(one.number) + " of " +
           layers;
  }

  const StepSchedule& schedule_;
  const Trace& trace_;
};

// Whether some of its single messages go when their receivers ask for them, which a replay of
// collectives does not wait for.
bool wait_for_receivers(const MessageCost& asked, const StepSchedule& schedule) {
  const MessageCost cost = asked.with_messages();
  if (!cost.plays() || schedule.ranks() < 2) return false;
  for (const PlannedMessage& message : schedule.plan().messages) {
    const Encoded encoded = cost.encoded(message.group());
    for (int i = 0; i < encoded.transfer_count; ++i) {
      std::optional<Network> network;
      const Program program =
          cost.program_of(encoded.transfers[static_cast<std::size_t>(i)], network);
      for (const Stage& stage : program.stages)
        if (const auto* phase = std::get_if<Phase>(&stage))
          if (phase->handshake != Handshake::buffered) return true;
    }
  }
  return false;
}

struct ChakraArguments {
  std::string experiment;
  std::string cluster;
  std::string out;
  std::vector<std::string> settings;
  bool force = false;
};

void claim(const std::vector<std::string>& inputs, bool force, const std::string& file) {
  OutputGuard(inputs, force).claim("--out", file, OutputKind());
}

// Files of a trace with more ranks would be replayed with this one's.
void refuse_left_over(const std::string& next_file, int ranks) {
  std::error_code none;
  if (std::filesystem::exists(next_file, none))
    throw InputError("--out", "this trace has " + std::to_string(ranks) + " ranks, and \"" +
                                  next_file +
                                  "\" is there: a trace of more ranks, which would be replayed "
                                  "together with it; delete its files, or choose another prefix");
}

void export_chakra(const ChakraArguments& arguments, Streams streams) {
  const ResolvedExperiment resolved =
      resolve_experiment(arguments.experiment, arguments.settings, arguments.cluster);
  const Experiment experiment = read_experiment(resolved);
  std::optional<StepQuestion> question;
  std::optional<StepSchedule> schedule;
  std::optional<TraceWriter> writer;
  try {
    question.emplace(experiment.question());
    schedule.emplace(*question, StepSchedule::Says::collectives);
    writer.emplace(*schedule, experiment.trace);
    if (schedule->ranks() > most_ranks_written)
      throw InputError("", std::to_string(schedule->ranks()) + " ranks; the most are " +
                               std::to_string(most_ranks_written));
    writer->of_rank(0);  // what cannot be said is refused before anything is written
  } catch (const InputError& error) {
    throw InputError(arguments.experiment, error.what());
  }
  const auto file_of = [&](int rank) { return arguments.out + "." + std::to_string(rank) + ".et"; };
  const std::string groups_file = arguments.out + ".groups.json";
  claim(resolved.inputs, arguments.force, groups_file);
  Json ranks = Json::array();
  for (int rank = 0; rank < schedule->ranks(); ++rank) {
    claim(resolved.inputs, arguments.force, file_of(rank));
    ranks.push_back(rank);
  }
  refuse_left_over(file_of(schedule->ranks()), schedule->ranks());
  for (int rank = 0; rank < schedule->ranks(); ++rank)
    write_file(writer->of_rank(rank), file_of(rank));
  write_file(Json{{group_of_all, ranks}}.dump() + "\n", groups_file);
  for (const std::string& note : schedule->notes()) streams.log << "sgdsim: note: " << note << '\n';
  if (experiment.collective != "ring")
    streams.log << "sgdsim: note: a trace does not say how its collectives are done; here it is "
                << experiment.collective << '\n';
  if (wait_for_receivers(question->cost, *schedule))
    streams.log << "sgdsim: note: single messages of " << experiment.collective
                << " wait for their receivers, which `sgdsim replay` does not do: it may take "
                   "less time\n";
}

}  // namespace

void add_chakra_export(CLI::App& command, Streams streams) {
  CLI::App* one = command.add_subcommand(
      "chakra", "One iteration of an experiment as a Chakra trace, one file per rank.");
  auto arguments = std::make_shared<ChakraArguments>();
  one->add_option("EXPERIMENT", arguments->experiment,
                  "an experiment file, or with --cluster a trace (a file or a name)")
      ->required();
  one->add_option("-c,--cluster", arguments->cluster,
                  "cluster in place of the experiment's: a file or a name");
  one->add_option("-o,--out", arguments->out,
                  "prefix of the files: PREFIX.0.et, PREFIX.1.et, ..., PREFIX.groups.json")
      ->required();
  add_force_option(*one, arguments->force);
  make_repeatable(one->add_option("--set", arguments->settings,
                                  "change a field of the experiment: cluster.nodes=4"));
  one->footer(
      "Example:\n  sgdsim export chakra app/experiments/googlenet_k80.json --set cluster.nodes=4 "
      "--out results/step");
  one->callback([arguments, streams] { export_chakra(*arguments, streams); });
}

}  // namespace sgdsim
