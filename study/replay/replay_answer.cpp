// From words to a schedule that was played.
#include "study/replay/replay_answer.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <sstream>

#include "models/collective/network_defaults.h"
#include "sim/core/error.h"
#include "sim/core/quantity.h"
#include "sim/core/refusal.h"
#include "study/beside.h"
#include "study/collective/ranges.h"
#include "study/shipped_inputs.h"
#include "study/step/override.h"
#include "study/table.h"
#include "study/trace_events.h"
#include "study/transport_choice.h"
#include "study/wire_use.h"
#include "topologies/cluster_file.h"
#include "traces/goal.h"

namespace sgdsim {
namespace {

constexpr std::size_t busiest_shown = 10;

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

MessageCosts costs_of(const ReplayWords& words) {
  MessageCosts costs;
  costs.overhead = duration_of(words.overhead, "--o");
  costs.overhead_per_byte = per_byte_of(words.overhead_per_byte, "--O");
  costs.gap = duration_of(words.gap, "--g");
  costs.flight = duration_of(words.flight, "--L");
  costs.per_byte = per_byte_of(words.per_byte, "--G");
  if (!words.eager.empty())
    costs.eager_B =
        parse_bytes(is_bare(words.eager) ? words.eager + " B" : words.eager, "--S").count();
  return costs;
}

std::optional<Cluster> cluster_of(const ReplayWords& words, uint32_t ranks) {
  if (words.cluster.empty()) {
    if (words.flight.empty() && words.per_byte.empty())
      throw InputError("--cluster", "expected a cluster file, or --L and --G");
    refuse_idle({{"--alpha", !words.alpha.empty()}, {"--set", !words.settings.empty()}},
                "without --cluster");
    return std::nullopt;
  }
  if (!words.flight.empty() || !words.per_byte.empty())
    throw InputError(words.flight.empty() ? "--G" : "--L",
                     "comes from the --cluster, if one is given");
  const Json json = cluster_json(words.cluster, words.settings);
  Cluster cluster = read_cluster(Value(json, place_of(words.cluster), "")).cluster;
  const auto workers = static_cast<uint32_t>(cluster.network.workers());
  if (ranks > workers)
    throw InputError("--cluster", std::to_string(ranks) + " ranks do not fit on " + words.cluster +
                                      ", which has " + std::to_string(workers) +
                                      " workers; --set nodes=N makes it larger");
  if (cluster.network.crowding().any())
    throw InputError("--cluster", words.cluster + ": " + crowding_is_for("schedules"));
  if (!cluster.network.shared_ways().empty() && words.ports == "turns" &&
      words.fidelity == "message")
    throw InputError("--ports", words.cluster +
                                    " has cards or uplinks that workers share: leave turns out, or "
                                    "say shared");
  return cluster;
}

std::string name_of(uint32_t rank) {
  return rank == RankOperation::any ? "any rank" : "rank " + std::to_string(rank);
}

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

// One line for each of the first ones, then how many more.
void list(std::ostream& log, const ReplayAnswer& file, const std::vector<uint32_t>& places,
          const std::vector<std::string>& whys) {
  constexpr std::size_t most_lines = 10;
  for (std::size_t i = 0; i < std::min(most_lines, places.size()); ++i)
    log << "\n  " << file.text_of(places[i]) << whys[i % whys.size()];
  if (places.size() > most_lines) log << "\n  and " << places.size() - most_lines << " more";
}

std::string counted(uint64_t count, const std::string& what) {
  return std::to_string(count) + " " + what + (count == 1 ? "" : "s");
}

// An algorithm that was chosen, and has no operation of the collectives that there are.
void check_used(const ChakraSchedule& schedule, const std::vector<std::string>& algorithms) {
  for (const std::string& text : algorithms) {
    if (text == "nccl" && !schedule.operations().empty() && !schedule.is_like_nccl())
      throw InputError("--algorithm",
                       "nccl has none of the operations of these collectives; leave it out");
    if (text == "auto" || text == "nccl" || text.find('=') != std::string::npos) continue;
    if (schedule.operations().empty() || schedule.algorithms().contains(text)) continue;
    std::string there;
    for (const Operation operation : schedule.operations())
      there += (there.empty() ? "" : ", ") + std::string(name_of(operation));
    const Algorithm& algorithm = algorithm_named(text, "--algorithm");
    if (std::any_of(schedule.operations().begin(), schedule.operations().end(),
                    [&](Operation operation) { return algorithm.offers(operation); }))
      continue;  // another one was chosen for it
    throw InputError("--algorithm", text + " has none of the operations of these collectives (" +
                                        there + "); choose another one, or leave it out");
  }
}

bool is_stuck(const Replayed& played) {
  return !played.waiting.empty() || !played.not_received.empty() || !played.stranded.empty() ||
         played.not_begun > 0;
}

void explain(std::ostream& log, const ReplayAnswer& file) {
  const Replayed& played = *file.played;
  if (!played.stopped_by.empty()) {
    log << played.stopped_by << ", with " << played.operations << " of "
        << file.schedule().operations().size() << " operations done";
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
  log << "the schedule is stuck: " << (played.circle.empty() ? "" : printable(played.circle) + "; ")
      << counted(played.waiting.size(), "operation") << " waiting, "
      << (reasons.empty() ? "" : summary_of(reasons, "message") + ", ")
      << counted(played.not_received.size(), "message") << " not received, "
      << counted(played.not_begun, "operation") << " behind them not begun";
  list(log, file, sends, whys);
  list(log, file, played.waiting, {": still waiting"});
  list(log, file, played.not_received, {": nobody receives it"});
  const auto sends_at = [&](uint32_t place) {
    return file.schedule().operations()[place].verb == RankVerb::send;
  };
  if (std::any_of(played.waiting.begin(), played.waiting.end(), sends_at))
    log << "\n  sends of more than --S, and over links that say \"rendezvous\", wait for their "
           "receives: let receives begin before such sends, or beside them";
}

// Programs of GOAL match by sender and tag only, so that this is no error; it may be a mistake.
// What the receives of a Chakra trace say of sizes is up to who wrote it.
void note_unequal(ReplayAnswer& answer) {
  const Replayed& played = *answer.played;
  if (!answer.goal || played.unequal == 0) return;
  answer.notes.push_back(
      counted(played.unequal, "message") + (played.unequal == 1 ? " meets" : " meet") +
      " a receive of another size (first: " + answer.text_of(played.unequal_send) +
      "): the sender and the wires pay for what is sent, the receiver's processor for what it "
      "asks for");
}

Time last_of(const Replayed& played) {
  return *std::max_element(played.ends.begin(), played.ends.end());
}

// What the options say about messages.
void set_messages(const ReplayWords& words, const std::optional<Cluster>& cluster,
                  ReplayWires& wires, Replay& question) {
  if (cluster) question.network = &cluster->network;
  set_wires(words, cluster, wires, question);
  question.shares_ports = shares_ports(words, cluster);
  if (question.shares_ports && !cluster)
    throw InputError("--ports", "are shared on a --cluster only");
  if (question.shares_ports && question.costs.gap > Duration())
    throw InputError("--g",
                     "keeps messages of a card apart, which shared ports do not: leave it out");
  if (!words.send_buffer.empty()) {
    if (!question.shares_ports) throw needs("--send-buffer", "--ports shared");
    question.send_buffer_B =
        static_cast<double>(parse_bytes(words.send_buffer, "--send-buffer").count());
  }
  if (!words.alpha.empty())
    question.alpha = words.alpha == "wire" ? AlphaRule::wire : AlphaRule::port;
  else if (cluster)
    question.alpha = usual_alpha(cluster->kind);
  if (words.unexpected.empty()) return;
  if (question.shares_ports || question.resources != nullptr)
    throw no_effect(
        "--unexpected",
        "where messages share ports or wires: bytes come as they are sent; leave it out");
  question.unexpected = words.unexpected == "asked" ? Unexpected::asked : Unexpected::buffered;
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

ChakraQuestion chakra_question(const ReplayWords& words, const std::optional<Cluster>& cluster) {
  ChakraQuestion question;
  question.files = files_by_rank(words.files);
  question.has_groups = !words.groups.empty();
  if (question.has_groups)
    question.groups = read_rank_groups(words.groups, static_cast<uint32_t>(question.files.size()));
  if (cluster)
    question.algorithms = usual_algorithms(*cluster, static_cast<int>(question.files.size()));
  for (const std::string& algorithm : words.algorithms)
    question.algorithms.add(algorithm, "--algorithm");
  question.operations_per_s = flops_of(words.flops);
  question.pays_folds = cluster.has_value();
  if (cluster) question.cluster = &*cluster;
  return question;
}

void refuse_chakra_options(const ReplayWords& words) {
  refuse_idle({{"--groups", !words.groups.empty()},
               {"--algorithm", !words.algorithms.empty()},
               {"--flops", !words.flops.empty()}},
              "on a GOAL schedule");
}

// Empty, or why it cannot be played.
std::string why_not_played(ReplayAnswer& answer) {
  std::ostringstream text;
  if (answer.chakra) {
    const std::vector<std::string>& problems = answer.chakra->problems();
    for (std::size_t i = 0; i < problems.size(); ++i)
      text << (i == 0 ? answer.name + ": " : "\n") << problems[i];
    return text.str();
  }
  const std::vector<uint32_t> circle = answer.schedule().find_circle();
  if (circle.empty()) return "";
  text << answer.name << ": " << counted(circle.size(), "operation")
       << " in a circle, each waiting for the next";
  list(text, answer, circle, {""});
  return text.str();
}

void read_file(const ReplayWords& words, ReplayAnswer& answer, bool is_chakra) {
  answer.name = words.files.front();
  if (words.files.size() > 1)
    answer.name += " and " + std::to_string(words.files.size() - 1) + " more";
  if (is_chakra) return;
  refuse_chakra_options(words);
  answer.goal.emplace(read_goal(words.files.front()));
}

}  // namespace

std::string ReplayAnswer::text_of(uint32_t place) const {
  return goal ? sgdsim::text_of(*goal, place) : chakra->text_of(place);
}

Fields replay_fields(ReplayWords& words) {
  return Fields{
             Field("schedule", words.files,
                   "a GOAL file (- is standard input), or the files of a Chakra trace, one per "
                   "rank: step.0.et step.1.et")
                 .needed()
                 .files(FileWords::only)
                 .option("SCHEDULE"),
             Field("cluster", words.cluster, "cluster file: messages cross its ports")
                 .option("-c,--cluster"),
             {"set", words.settings, "change a field of the cluster: nodes=4"},
             Field("algorithm", words.algorithms,
                   "Chakra: algorithm, or alltoall=direct; auto, nccl (default: as `collective`)")
                 .option("-a,--algorithm"),
             {"groups", words.groups,
              "Chakra: JSON file with the ranks of each group (default: all ranks)"},
             {"flops", words.flops,
              "Chakra: operations a second, for nodes with num_ops and no duration"},
             Field("fidelity", words.fidelity, "message (default), flow or packet")
                 .one_of({"message", "flow", "packet"}),
             routing_field(words.routing),
             transport_field(words.transport),
             traffic_beside_field(words.traffic),
             {"seed", words.seed, "seed of what packets and routes draw (default: 1)"},
             Field("alpha", words.alpha,
                   "latency on the cluster: port (keeps both ports) or wire (default: wire where "
                   "its `network` is tcp, mpi, gloo or nccl, else port)")
                 .one_of({"port", "wire"}),
             Field("ports", words.ports,
                   "turns (messages one after the other), or shared by messages in progress "
                   "(default: turns, but shared with --traffic and where workers share cards or "
                   "uplinks)")
                 .one_of({"turns", "shared"}),
             {"send_buffer", words.send_buffer,
              "bytes that the system takes off a sender's hands, with --ports shared"},
             {"L", words.flight, "latency between two ranks, as 2 us; bare: ns"},
             {"o", words.overhead, "overhead of a message, on both processors"},
             {"g", words.gap, "gap between messages of a card"},
             {"G", words.per_byte, "time per byte, as 0.08 ns/B; bare: ns/B"},
             {"O", words.overhead_per_byte, "overhead of processors, per byte"},
             {"S", words.eager,
              "larger messages wait for their receiver, as 64 KiB; bare: bytes (default: none "
              "does)"},
             Field("unexpected", words.unexpected,
                   "messages that come before their receive: buffered (the card takes them when "
                   "they come; default without --cluster), or asked (when they are asked for, as "
                   "in the rounds of collectives; default with --cluster)")
                 .one_of({"buffered", "asked"}),
         } +
         limit_fields(words.limits);
}

ReplayAnswer answer_replay(const ReplayWords& words, bool records, const Watch& watch) {
  const bool is_chakra = words.files.size() > 1 || looks_like_chakra(words.files.front());
  ReplayAnswer answer;
  read_file(words, answer, is_chakra);
  const auto ranks = is_chakra ? static_cast<uint32_t>(words.files.size()) : answer.goal->ranks();
  Replay question;
  question.costs = costs_of(words);
  const std::optional<Cluster> cluster = cluster_of(words, ranks);
  ReplayWires wires;
  set_messages(words, cluster, wires, question);
  answer.fidelity = fidelity_named(words.fidelity, "--fidelity");
  answer.transport = wires.transport;
  const Network by_parameters = Network::uniform(
      static_cast<int>(ranks), {question.costs.flight, question.costs.per_byte, {}});
  ChakraQuestion chakra;
  if (is_chakra) {
    chakra = chakra_question(words, cluster);
    chakra.network = cluster ? &cluster->network : &by_parameters;
    chakra.alpha = question.alpha;
    chakra.on_wires = is_on_wires(answer.fidelity);
    chakra.shares = question.shares_ports || chakra.on_wires;
    answer.chakra.emplace(chakra);
    answer.notes = answer.chakra->notes();
    check_used(*answer.chakra, words.algorithms);
  }
  question.schedule = &answer.schedule();
  question.records = records;
  if (records) check_shown(question.schedule->operations().size(), "operations");
  answer.problem = why_not_played(answer);
  if (!answer.problem.empty()) return answer;
  Stopper stopper(watch, limits_of(words.limits));
  question.stopper = &stopper;
  answer.played = play(question);
  if (is_on_wires(answer.fidelity))
    answer.wires =
        use_of(*wires.wires, answer.played->carried_B, answer.played->until - Time(), busiest_shown,
               changed_by(question.meanwhile.changes, answer.played->until));
  note_unequal(answer);
  if (const std::string lost = delivered_warning(answer.played->least_delivered); !lost.empty())
    answer.warnings.push_back(lost);
  if (answer.played->stopped_by.empty() && !is_stuck(*answer.played)) {
    answer.ranks = time_of(answer.played->shares, Time(), 1);
    return answer;
  }
  std::ostringstream why;
  explain(why, answer);
  answer.problem = why.str();
  return answer;
}

namespace {

Fields replayed_fields(const ReplayAnswer& answer, const RankSchedule& schedule,
                       const Replayed& played) {
  std::vector<int64_t> ends_ps;
  for (const Time end : played.ends) ends_ps.push_back(end.ps());
  std::vector<std::string> warnings = answer.notes;
  warnings.insert(warnings.end(), answer.warnings.begin(), answer.warnings.end());
  return Fields{answer_kind("sgdsim/replay/1"),
                {"schedule", answer.name,
                 "the file that was simulated; of several files the first one, and how many more"},
                Field("ranks", schedule.ranks(), "how many ranks it has").at_least(1),
                {"fidelity", answer.fidelity, "at which level it was simulated"},
                transport_taken_field(answer.transport),
                {"complete", answer.problem.empty(),
                 "whether all operations have ended and all messages were received: false if the "
                 "schedule is stuck, or was stopped by a limit"},
                {"makespan_ps", last_of(played).ps(), "the end of the last rank, in picoseconds"},
                {"end_ps", std::move(ends_ps),
                 "the end of the last operation of each rank, in picoseconds"},
                {"operations", schedule.operations().size(), "how many the schedule has"},
                {"operations_done", played.operations, "how many of them have ended"},
                {"messages", played.messages, "how many have been sent"},
                {"wire_B", played.wire_B, "their bytes together"},
                {"events", played.events, "how many events were simulated"}} +
         rank_time_fields(answer.ranks) +
         Fields{reason_field(answer.ranks ? reason_text(*answer.ranks) : "")} +
         use_fields_if_any(answer.wires.kinds.empty() ? nullptr : &answer.wires) +
         Fields{Field("warnings", std::move(warnings),
                      "what one should know of how the schedule is simulated")
                    .if_any()};
}

}  // namespace

Json to_json(const ReplayAnswer& answer) {
  return written(replayed_fields(answer, answer.schedule(), *answer.played));
}
Json schema_of_replayed() {
  Replayed none;
  none.ends = {{}};
  return record_schema(replayed_fields({}, RankSchedule(1), none));
}

void print(std::ostream& out, const ReplayAnswer& answer) {
  const RankSchedule& schedule = answer.schedule();
  const Replayed& played = *answer.played;
  const auto last = std::max_element(played.ends.begin(), played.ends.end());
  const auto first = std::min_element(played.ends.begin(), played.ends.end());
  out << counted(schedule.ranks(), "rank") << ", "
      << counted(schedule.operations().size(), "operation") << ", "
      << counted(played.messages, "message") << " of " << rounded(played.wire_B)
      << (played.messages == 1 ? " B\n\n" : " B together\n\n") << "makespan     "
      << short_duration(last->us(), 6) << "  (rank " << last - played.ends.begin() << ")\n"
      << "first end    " << short_duration(first->us(), 6) << "  (rank "
      << first - played.ends.begin() << ")\n";
  print_reason(out, answer.ranks);
  if (!answer.wires.busiest.empty()) print_use(out << '\n', answer.wires);
}

Answer answer_replay(const Value& question, const Watch& watch) {
  ReplayWords words = words_of(question, replay_fields);
  const ReplayAnswer answered = answer_replay(words, false, watch);
  Answer answer{answered.played ? to_json(answered) : Json(), answered.notes};
  answer.warnings.insert(answer.warnings.end(), answered.warnings.begin(), answered.warnings.end());
  answer.problem = answered.problem;
  if (!answer.problem.empty()) answer.code = exit_stuck;
  return answer;
}

}  // namespace sgdsim
