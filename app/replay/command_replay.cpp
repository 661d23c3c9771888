// `sgdsim replay`: a schedule of what every rank does, or a Chakra trace, on a network.
#include <CLI/CLI.hpp>
#include <charconv>
#include <limits>
#include <memory>

#include "app/collective/ranges.h"
#include "app/commands.h"
#include "app/interrupt.h"
#include "app/limits.h"
#include "app/replay/chakra_schedule.h"
#include "app/replay/replay_wires.h"
#include "app/replay/schedule_slices.h"
#include "app/shipped_inputs.h"
#include "app/step/override.h"
#include "app/table.h"
#include "app/trace_events.h"
#include "app/transport_choice.h"
#include "app/usage.h"
#include "app/wire_use.h"
#include "app/write_text.h"
#include "sim/core/error.h"
#include "sim/core/json.h"
#include "sim/core/quantity.h"
#include "sim/play/replay.h"
#include "topologies/cluster_file.h"
#include "traces/goal.h"

namespace sgdsim {
namespace {

// LogGOPS writes bare numbers; they are nanoseconds.
bool is_bare(const std::string& text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size();
}
Duration duration_of(const std::string& text, const char* option) {
  if (text.empty()) return {};
  return parse_duration(is_bare(text) ? text + " ns" : text, option);
}
PerByte per_byte_of(const std::string& text, const char* option) {
  if (text.empty()) return {};
  return parse_per_byte(is_bare(text) ? text + " ns/B" : text, option);
}

MessageCosts costs_of(const ReplayArguments& arguments) {
  MessageCosts costs;
  costs.overhead = duration_of(arguments.overhead, "--o");
  costs.overhead_per_byte = per_byte_of(arguments.overhead_per_byte, "--O");
  costs.gap = duration_of(arguments.gap, "--g");
  costs.flight = duration_of(arguments.flight, "--L");
  costs.per_byte = per_byte_of(arguments.per_byte, "--G");
  if (!arguments.eager.empty())
    costs.eager_B =
        parse_bytes(is_bare(arguments.eager) ? arguments.eager + " B" : arguments.eager, "--S")
            .count();
  return costs;
}

std::optional<Cluster> cluster_of(const ReplayArguments& arguments, uint32_t ranks) {
  if (arguments.cluster.empty()) {
    if (arguments.flight.empty() && arguments.per_byte.empty())
      throw InputError("--cluster", "expected a cluster file, or --L and --G");
    if (!arguments.alpha.empty()) throw InputError("--alpha", "has no effect without --cluster");
    if (!arguments.settings.empty()) throw InputError("--set", "has no effect without --cluster");
    return std::nullopt;
  }
  if (!arguments.flight.empty() || !arguments.per_byte.empty())
    throw InputError(arguments.flight.empty() ? "--G" : "--L",
                     "comes from the --cluster, if one is given");
  Json json = cluster_document(arguments.cluster).root().json();
  apply_settings(json, arguments.settings);
  Cluster cluster = read_cluster(Value(json, arguments.cluster, "")).cluster;
  const auto workers = static_cast<uint32_t>(cluster.network.workers());
  if (ranks > workers)
    throw InputError("--cluster", std::to_string(ranks) + " ranks do not fit on " +
                                      arguments.cluster + ", which has " + std::to_string(workers) +
                                      " workers; --set nodes=N makes it larger");
  if (cluster.network.crowding().any())
    throw InputError("--cluster", arguments.cluster + ": " + crowding_is_for("schedules"));
  if (!cluster.network.shared_ways().empty() && arguments.ports == "turns" &&
      arguments.fidelity == "message")
    throw InputError("--cluster", arguments.cluster +
                                      " has cards or uplinks that workers share: add --ports "
                                      "shared");
  return cluster;
}

std::string name_of(uint32_t rank) {
  return rank == RankOperation::any ? "any rank" : "rank " + std::to_string(rank);
}

// What an operation is, for people.
std::string text_of(const RankSchedule& schedule, uint32_t place) {
  const RankOperation& one = schedule.operations()[place];
  std::string text = "rank " + std::to_string(schedule.rank_of(place)) + ", line " +
                     std::to_string(one.line) + ": ";
  if (one.verb == RankVerb::compute) return text + "calc " + to_text(Duration::ps(one.amount));
  const bool sends = one.verb == RankVerb::send;
  text += sends ? "send " : "recv ";
  text += std::to_string(one.amount) + " B " + (sends ? "to " : "from ") + name_of(one.peer);
  return text + ", tag " + (one.tag == RankOperation::any ? "any" : std::to_string(one.tag));
}

// A schedule of either format.
struct ReplayedFile {
  std::string name;
  std::optional<RankSchedule> goal;
  std::optional<ChakraSchedule> chakra;
  const RankSchedule& schedule() const { return goal ? *goal : chakra->schedule(); }
  std::string text_of(uint32_t place) const {
    return goal ? sgdsim::text_of(*goal, place) : chakra->text_of(place);
  }
};

// One line for each of the first ones, then how many more.
void list(std::ostream& log, const ReplayedFile& file, const std::vector<uint32_t>& places,
          const std::vector<std::string>& whys) {
  constexpr std::size_t most_lines = 10;
  for (std::size_t i = 0; i < std::min(most_lines, places.size()); ++i)
    log << "  " << file.text_of(places[i]) << whys[i % whys.size()] << '\n';
  if (places.size() > most_lines) log << "  and " << places.size() - most_lines << " more\n";
}

std::string counted(uint64_t count, const std::string& what) {
  return std::to_string(count) + " " + what + (count == 1 ? "" : "s");
}

bool is_stuck(const Replayed& played) {
  return !played.waiting.empty() || !played.not_received.empty() || !played.stranded.empty() ||
         played.not_begun > 0;
}

void explain(std::ostream& log, const ReplayedFile& file, const Replayed& played) {
  if (!played.stopped_by.empty()) {
    log << "sgdsim: " << played.stopped_by << ", with " << played.operations << " of "
        << file.schedule().operations().size() << " operations done\n";
    return;
  }
  std::vector<uint32_t> sends;
  std::vector<Stranding> reasons;
  std::vector<std::string> whys;
  for (const auto& [send, why] : played.stranded) {
    sends.push_back(send);
    reasons.push_back(why);
    whys.push_back(": its message " + what_one_does(why));
  }
  log << "sgdsim: the schedule is stuck: "
      << (played.circle.empty() ? "" : printable(played.circle) + "; ")
      << counted(played.waiting.size(), "operation") << " waiting, "
      << (reasons.empty() ? "" : summary_of(reasons, "message") + ", ")
      << counted(played.not_received.size(), "message") << " not received, "
      << counted(played.not_begun, "operation") << " behind them not begun\n";
  list(log, file, sends, whys);
  list(log, file, played.waiting, {": still waiting"});
  list(log, file, played.not_received, {": nobody receives it"});
}

Time last_of(const Replayed& played) {
  return *std::max_element(played.ends.begin(), played.ends.end());
}

Json to_json(const ReplayedFile& file, const Replayed& played) {
  const RankSchedule& schedule = file.schedule();
  Json ends = Json::array();
  for (const Time end : played.ends) ends.push_back(end.ps());
  const bool complete = played.stopped_by.empty() && !is_stuck(played);
  Json json = {{"schema", "sgdsim/replay/1"},
               {"schedule", file.name},
               {"ranks", schedule.ranks()},
               {"complete", complete},
               {"makespan_ps", last_of(played).ps()},
               {"end_ps", std::move(ends)},
               {"operations", schedule.operations().size()},
               {"operations_done", played.operations},
               {"messages", played.messages},
               {"wire_B", played.wire_B},
               {"events", played.events}};
  std::vector<std::string> warnings;
  if (file.chakra) warnings = file.chakra->notes();
  if (const std::string lost = delivered_warning(played.least_delivered); !lost.empty())
    warnings.push_back(lost);
  if (!warnings.empty()) json["warnings"] = warnings;
  return json;
}

void print(std::ostream& out, const RankSchedule& schedule, const Replayed& played) {
  const auto last = std::max_element(played.ends.begin(), played.ends.end());
  const auto first = std::min_element(played.ends.begin(), played.ends.end());
  out << schedule.ranks() << " ranks, " << schedule.operations().size() << " operations, "
      << played.messages << " messages of " << rounded(played.wire_B) << " B together\n\n"
      << "makespan     " << short_duration(last->us(), 6) << "  (rank "
      << last - played.ends.begin() << ")\n"
      << "first end    " << short_duration(first->us(), 6) << "  (rank "
      << first - played.ends.begin() << ")\n";
}

// What the options say about messages.
void set_messages(const ReplayArguments& arguments, const std::optional<Cluster>& cluster,
                  ReplayWires& wires, Replay& question) {
  if (cluster) question.network = &cluster->network;
  set_wires(arguments, cluster, wires, question);
  question.shares_ports = arguments.ports == "shared";
  if (question.shares_ports && !cluster)
    throw InputError("--ports", "are shared on a --cluster only");
  if (question.shares_ports && question.costs.gap > Duration())
    throw InputError("--g", "keeps messages of a card apart, which --ports shared does not");
  if (!arguments.send_buffer.empty()) {
    if (!question.shares_ports) throw InputError("--send-buffer", "needs --ports shared");
    question.send_buffer_B =
        static_cast<double>(parse_bytes(arguments.send_buffer, "--send-buffer").count());
  }
  question.alpha = arguments.alpha == "wire" ? AlphaRule::wire : AlphaRule::port;
  if (arguments.unexpected.empty()) return;
  if (question.shares_ports || question.resources != nullptr)
    throw InputError("--unexpected",
                     "has no effect where messages share ports or wires: bytes come as they are "
                     "sent; it goes with --fidelity message and --ports turns");
  question.unexpected = arguments.unexpected == "asked" ? Unexpected::asked : Unexpected::buffered;
}

// Operations a second, a number such as 312e12.
double flops_of(const std::string& text) {
  if (text.empty()) return 0;
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !(value > 0) || value > 1e30)
    throw InputError("--flops", "expected operations a second, as 312e12, got \"" + text + "\"");
  return value;
}

ChakraQuestion chakra_question(const ReplayArguments& arguments,
                               const std::optional<Cluster>& cluster) {
  ChakraQuestion question;
  question.files = files_by_rank(arguments.files);
  question.has_groups = !arguments.groups.empty();
  if (question.has_groups)
    question.groups =
        read_rank_groups(arguments.groups, static_cast<uint32_t>(question.files.size()));
  for (const std::string& algorithm : arguments.algorithms)
    question.algorithms.add(algorithm, "--algorithm");
  question.operations_per_s = flops_of(arguments.flops);
  question.pays_folds = cluster.has_value();
  // The ranks fill whole nodes, or algorithms do not see the nodes.
  if (cluster && question.files.size() % static_cast<std::size_t>(cluster->workers_per_node) == 0)
    question.workers_per_node = cluster->workers_per_node;
  return question;
}

void refuse_chakra_options(const ReplayArguments& arguments) {
  for (const auto& [option, is_given] : {std::pair{"--groups", !arguments.groups.empty()},
                                         {"--algorithm", !arguments.algorithms.empty()},
                                         {"--flops", !arguments.flops.empty()}})
    if (is_given) throw InputError(option, "has no effect on a GOAL schedule");
}

// Whether it can be played; otherwise the log says why not.
bool is_playable(const ReplayedFile& file, Streams streams) {
  if (file.chakra) {
    for (const std::string& note : file.chakra->notes())
      streams.log << "sgdsim: note: " << note << '\n';
    const std::vector<std::string>& problems = file.chakra->problems();
    for (std::size_t i = 0; i < problems.size(); ++i)
      streams.log << (i == 0 ? "sgdsim: " + file.name + ": " : "") << problems[i] << '\n';
    return problems.empty();
  }
  const std::vector<uint32_t> circle = file.schedule().find_circle();
  if (circle.empty()) return true;
  streams.log << "sgdsim: " << file.name << ": " << counted(circle.size(), "operation")
              << " in a circle, each waiting for the next\n";
  list(streams.log, file, circle, {""});
  return false;
}

void replay(const ReplayArguments& arguments, Streams streams, int& exit_code) {
  if (arguments.gantt && arguments.format != "table")
    throw InputError("--gantt", "is for people; it does not go with --format json");
  std::vector<std::string> inputs = arguments.files;
  inputs.insert(inputs.end(), {arguments.cluster, arguments.groups, arguments.traffic});
  OutputGuard guard(inputs, arguments.force);
  guard.claim("--timeline", arguments.timeline, {.schema = {}, .beginning = timeline_beginning});
  const bool is_chakra = arguments.files.size() > 1 || looks_like_chakra(arguments.files.front());
  ReplayedFile file;
  file.name = arguments.files.front();
  if (arguments.files.size() > 1)
    file.name += " and " + std::to_string(arguments.files.size() - 1) + " more";
  if (!is_chakra) {
    refuse_chakra_options(arguments);
    file.goal.emplace(read_goal(arguments.files.front()));
  }
  const auto ranks = is_chakra ? static_cast<uint32_t>(arguments.files.size()) : file.goal->ranks();
  Replay question;
  question.costs = costs_of(arguments);
  const std::optional<Cluster> cluster = cluster_of(arguments, ranks);
  ReplayWires wires;
  set_messages(arguments, cluster, wires, question);
  const Network by_parameters = Network::uniform(
      static_cast<int>(ranks), {question.costs.flight, question.costs.per_byte, {}});
  ChakraQuestion chakra;
  if (is_chakra) {
    chakra = chakra_question(arguments, cluster);
    chakra.network = cluster ? &cluster->network : &by_parameters;
    chakra.alpha = question.alpha;
    chakra.on_wires = question.resources != nullptr;
    file.chakra.emplace(chakra);
  }
  question.schedule = &file.schedule();
  question.records = arguments.gantt || !arguments.timeline.empty();
  if (question.records) check_shown(question.schedule->operations().size(), "operations");
  if (!is_playable(file, streams)) {
    exit_code = exit_stuck;
    return;
  }
  Interrupt interrupt;
  Stopper stopper([&] { interrupt.throw_if_asked(); }, limits_of(arguments.limits));
  question.stopper = &stopper;
  const Replayed played = play(question);
  if (!arguments.timeline.empty())
    write_text(rank_timeline(slices_of(file.name, *question.schedule, played)), arguments.timeline,
               streams.out);
  if (const std::string lost = delivered_warning(played.least_delivered); !lost.empty())
    streams.log << "sgdsim: warning: " << lost << '\n';
  if (arguments.format == "json")
    streams.out << to_json(file, played).dump(1) << '\n';
  else
    print(streams.out, file.schedule(), played);
  if (arguments.gantt)
    streams.out << '\n'
                << rank_gantt(slices_of(file.name, *question.schedule, played), standard_output());
  if (played.stopped_by.empty() && !is_stuck(played)) return;
  explain(streams.log, file, played);
  exit_code = exit_stuck;
}

}  // namespace

void add_replay_command(CLI::App& program, Streams streams, int& exit_code) {
  CLI::App* command = program.add_subcommand(
      "replay", "Play a schedule, or a Chakra trace, of what every rank does.");
  auto arguments = std::make_shared<ReplayArguments>();
  command
      ->add_option("SCHEDULE", arguments->files,
                   "a GOAL file (- is standard input), or the files of a Chakra trace, one per "
                   "rank: step.0.et step.1.et")
      ->required();
  command->add_option("-c,--cluster", arguments->cluster, "cluster file: messages cross its ports");
  make_repeatable(
      command->add_option("--set", arguments->settings, "change a field of the cluster: nodes=4"));
  make_repeatable(command->add_option(
      "-a,--algorithm", arguments->algorithms,
      "Chakra: algorithm of the collectives (default: ring where it has the operation), or of "
      "one operation: alltoall=direct; auto: for every size the one that takes least"));
  command->add_option("--groups", arguments->groups,
                      "Chakra: JSON file with the ranks of each group (default: all ranks)");
  command->add_option("--flops", arguments->flops,
                      "Chakra: operations a second, for nodes with num_ops and no duration");
  command->add_option("--fidelity", arguments->fidelity, "message (default), flow or packet")
      ->check(one_of("fidelity", {"message", "flow", "packet"}));
  add_routing_option(*command, arguments->routing);
  add_transport_option(*command, arguments->transport);
  add_traffic_option(*command, arguments->traffic);
  command->add_option("--seed", arguments->seed, "of what packets and routes draw (default: 1)");
  command
      ->add_option("--alpha", arguments->alpha,
                   "latency on the cluster: port (keeps both ports) or wire (default: port)")
      ->check(one_of("rule", {"port", "wire"}));
  command
      ->add_option("--ports", arguments->ports,
                   "turns (messages one after the other), or shared by messages in progress "
                   "(default: turns)")
      ->check(one_of("rule", {"turns", "shared"}));
  command->add_option("--send-buffer", arguments->send_buffer,
                      "what the system takes off a sender's hands, with --ports shared");
  command->add_option("--L", arguments->flight, "latency between two ranks, as 2 us; bare: ns");
  command->add_option("--o", arguments->overhead, "of a message, on both processors");
  command->add_option("--g", arguments->gap, "between messages of a card");
  command->add_option("--G", arguments->per_byte, "time per byte, as 0.08 ns/B; bare: ns/B");
  command->add_option("--O", arguments->overhead_per_byte, "of processors, per byte");
  command->add_option("--S", arguments->eager,
                      "larger messages wait for their receiver, as 64 KiB; bare: bytes "
                      "(default: none does)");
  command
      ->add_option("--unexpected", arguments->unexpected,
                   "messages that come before their receive: buffered (the card takes them when "
                   "they come; default without --cluster), or asked (when they are asked for, as "
                   "in the rounds of collectives; default with --cluster)")
      ->check(one_of("rule", {"buffered", "asked"}));
  add_limit_options(*command, arguments->limits);
  command->add_option("--format", arguments->format, "table or json (default: table)")
      ->check(one_of("format", {"table", "json"}));
  command->add_option("--timeline", arguments->timeline,
                      "write the timeline as a Chrome trace, for Perfetto");
  command->add_flag("--gantt", arguments->gantt, "print what every rank does as text");
  add_force_option(*command, arguments->force);
  command->footer(
      "Examples:\n"
      "  sgdsim replay app/schedules/two_processors.goal --L 2000 --G 1\n"
      "  sgdsim replay app/schedules/ring_4.goal -c topologies/data/10gbe_16.json --format json");
  command->callback([arguments, streams, &exit_code] { replay(*arguments, streams, exit_code); });
}

}  // namespace sgdsim
