// From words to flows on wires.
#include "study/traffic/traffic_answer.h"

#include <algorithm>
#include <sstream>
#include <utility>

#include "models/collective/network_defaults.h"
#include "sim/core/error.h"
#include "sim/core/refusal.h"
#include "study/beside.h"
#include "study/collective/ranges.h"
#include "study/shipped_inputs.h"
#include "study/step/override.h"
#include "study/transport_choice.h"
#include "study/wire_words.h"
#include "topologies/cluster_file.h"

namespace sgdsim {
namespace {

constexpr int64_t most_links_shown = 100'000;

std::vector<double> sizes_of(const std::vector<PlainFlow>& flows) {
  std::vector<double> sizes_B;
  sizes_B.reserve(flows.size());
  for (const PlainFlow& flow : flows) sizes_B.push_back(static_cast<double>(flow.size.count()));
  return sizes_B;
}

// Played once more, since only now the busiest links are known.
void add_over_time(Completion& completion, FlowsQuestion question, Resources& wires, int64_t bins) {
  for (const LinkUse& link : completion.wires.busiest) question.watched.push_back(link.resource);
  for (const auto& [name, queue] : completion.queues)
    question.watched_queues.push_back(queue.resource);
  question.interval = Duration::ps(std::max<int64_t>(1, (completion.until.ps() + bins - 1) / bins));
  question.intervals = bins;
  question.resources = &wires;
  question.stopper->restart();
  FlowsPlayed again = play_flows(question);
  completion.over_time = {question.interval, bins, std::move(again.watched),
                          std::move(again.waiting_B)};
}

// What messages meet: the routes of flows, or how packets go.
struct RoutesOfWords {
  RouteChoice routes;
  std::optional<uint64_t> seed;  // as given
  Json transport;                // as it is sent; null: flows share wires evenly
};

RoutesOfWords routes_of(const TrafficWords& words) {
  check_routes(words.fidelity, words.routing, words.transport);
  const bool has_links = words.fidelity != "message";
  refuse_idle({{"--bins", !words.bins.empty() && !has_links},
               {"--links", !words.links.empty() && !has_links}},
              "at --fidelity " + words.fidelity);
  RoutesOfWords asked;
  if (!words.routing.empty()) asked.routes.routing = routing_named(words.routing, "--routing");
  if (!words.seed.empty()) {
    asked.seed = static_cast<uint64_t>(parse_whole(words.seed, 0, int64_t{1} << 62, "--seed"));
    asked.routes.seed = *asked.seed;
  }
  asked.transport = transport_in(words.transport);
  return asked;
}

// InputError where nothing draws.
void check_seed(const TrafficWords& words, const TrafficFile& file, Routing routing) {
  const bool draws =
      file.has_generators || words.fidelity == "packet" || routing == Routing::hashed;
  refuse_idle({{"--seed", !words.seed.empty() && !draws}},
              "without --fidelity packet or --routing hashed");
}

TrafficHead head_of(const TrafficWords& words, const TrafficAnswer& answer,
                    const RoutesOfWords& asked) {
  TrafficHead head{.traffic = answer.file.name,
                   .cluster = answer.cluster.name,
                   .workers = answer.cluster.network.workers(),
                   .fidelity = words.fidelity,
                   .transport = {},
                   .routing = {},
                   .is_complete = !answer.is_stuck(),
                   .flows = answer.file.flows.size()};
  if (!asked.transport.is_null()) head.transport = asked.transport["name"].get<std::string>();
  if (words.fidelity == "flow") head.routing = std::string(name_of(asked.routes.routing));
  return head;
}

Fields told_fields(const TrafficHead& head, const Completion& completion) {
  return Fields{answer_kind("sgdsim/completion/1"),
                {"traffic", head.traffic, "name of the traffic"},
                {"cluster", head.cluster, "name of the cluster"},
                Field("workers", head.workers, "workers of the cluster").at_least(2),
                Field("fidelity", head.fidelity, "at which level it was simulated")
                    .one_of({"message", "flow", "packet"}),
                transport_taken_field(head.transport),
                routing_taken_field(head.routing),
                {"complete", head.is_complete,
                 "whether all flows have ended: false if some never arrive"},
                Field("flow_count", head.flows, "how many flows there are").at_least(1)} +
         fields_of(completion);
}

}  // namespace

Fields traffic_fields(TrafficWords& words) {
  return Fields{
             Field("traffic", words.file,
                   "a traffic file (JSON), a table start_us,from,to,size_B, or a connection matrix "
                   "of htsim; - is standard input")
                 .needed()
                 .option("TRAFFIC"),
             Field("cluster", words.cluster, "cluster file").needed().option("-c,--cluster"),
             {"set", words.settings, "change a field of the cluster: nodes=4"},
             Field("fidelity", words.fidelity,
                   "message (flows share the ports of workers, nodes and racks), flow (default) or "
                   "packet")
                 .one_of({"message", "flow", "packet"}),
             transport_field(words.transport),
             routing_field(words.routing),
             {"seed", words.seed, "seed of what is drawn, in place of the file's (default: 1)"},
             {"links", words.links, "number of the busiest links to list (default: 10)"},
             {"bins", words.bins,
              "JSON: the use of the busiest links over time, in this many intervals, and what "
              "waits "
              "in the longest queues of packets"},
             Field("flows", words.flows, "JSON: every flow with its start and end (default: yes)")
                 .or_not(),
         } +
         limit_fields(words.limits);
}

TrafficAnswer answer_traffic(const TrafficWords& words, const Watch& watch, bool for_people) {
  const int64_t links =
      words.links.empty() ? 10 : parse_whole(words.links, 0, most_links_shown, "--links");
  const int64_t bins = bins_named(words.bins, links, for_people ? "table" : "json");
  RoutesOfWords asked = routes_of(words);
  const Json json = cluster_json(words.cluster, words.settings);
  TrafficAnswer answer{
      read_cluster(Value(json, place_of(words.cluster), "")).cluster, {}, {}, {}, {}};
  const Fidelity fidelity = fidelity_named(words.fidelity, "--fidelity");
  asked.transport = transport_on(answer.cluster, fidelity, asked.routes.routing, asked.transport);
  std::unique_ptr<Resources> wires = shared_at(fidelity, answer.cluster, asked.routes);
  answer.file = read_traffic(words.file, answer.cluster, *wires, asked.seed);
  check_seed(words, answer.file, asked.routes.routing);
  if (answer.file.seed != std::exchange(asked.routes.seed, answer.file.seed))
    wires = shared_at(fidelity, answer.cluster, asked.routes);
  const MakeCarrier carrier = carrier_of(Value(asked.transport, "--transport", ""),
                                         sizes_of(answer.file.flows), asked.routes.seed);
  Stopper stopper(watch, limits_of(words.limits));
  FlowsQuestion question{.flows = answer.file.flows,
                         .network = &answer.cluster.network,
                         .resources = wires.get(),
                         .carrier = carrier,
                         .changes = answer.file.changes,
                         .watched = {},
                         .watched_queues = {},
                         .interval = {},
                         .stopper = &stopper};
  if (fidelity == Fidelity::message) question.alpha = usual_alpha(answer.cluster.kind);
  answer.played = play_flows(question);
  answer.completion = completion_of(answer.file, answer.played, answer.cluster, *wires,
                                    static_cast<std::size_t>(links));
  if (bins > 0 && answer.completion.ended > 0)
    add_over_time(answer.completion, question, *shared_at(fidelity, answer.cluster, asked.routes),
                  bins);
  answer.head = head_of(words, answer, asked);
  return answer;
}

Json to_json(const TrafficAnswer& answer) {
  return written(told_fields(answer.head, answer.completion));
}
Json schema_of_completions() {
  const std::optional<Json> flows;
  return record_schema(told_fields({}, {}) +
                       Fields{Field("flows", flows, "every flow, in the order of the starts")
                                  .like(schema_of_flow_list)});
}

std::string stuck_text(const TrafficAnswer& answer) {
  constexpr std::size_t most_lines = 10;
  const FlowsPlayed& played = answer.played;
  const std::size_t count = played.stranded.size();
  std::ostringstream text;
  text << "the network is stuck: " << (played.circle.empty() ? "" : printable(played.circle) + "; ")
       << summary_of(played.why_stranded, "flow");
  for (std::size_t i = 0; i < std::min(most_lines, count); ++i) {
    const PlainFlow& flow = answer.file.flows[played.stranded[i]];
    text << "\n  flow " << played.stranded[i] << ": " << flow.size.count() << " B from worker "
         << flow.from << " to worker " << flow.to << ": " << reason_of(played.why_stranded[i]);
  }
  if (count > most_lines) text << "\n  and " << count - most_lines << " more";
  return text.str();
}

Answer answer_traffic(const Value& question, const Watch& watch) {
  TrafficWords words = words_of(question, traffic_fields);
  const TrafficAnswer answered = answer_traffic(words, watch, false);
  Answer answer{to_json(answered)};
  if (words.flows) {
    std::ostringstream flows;
    print_flows(flows, answered.file, answered.played);
    answer.json["flows"] = Json::parse(flows.str());
  }
  if (!answered.is_stuck()) return answer;
  answer.code = exit_stuck;
  answer.problem = stuck_text(answered);
  return answer;
}

}  // namespace sgdsim
