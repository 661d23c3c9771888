// `sgdsim traffic`: plain flows on the wires of a cluster, and when they are done.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>

#include "app/collective/ranges.h"
#include "app/commands.h"
#include "app/interrupt.h"
#include "app/limits.h"
#include "app/shipped_inputs.h"
#include "app/step/override.h"
#include "app/table.h"
#include "app/traffic/completion.h"
#include "app/transport_choice.h"
#include "app/usage.h"
#include "app/wire_use.h"
#include "sim/core/error.h"
#include "sim/core/json.h"
#include "topologies/cluster_file.h"

namespace sgdsim {
namespace {

constexpr int64_t most_links_shown = 100'000;

struct TrafficArguments {
  std::string file;
  std::string cluster;
  std::vector<std::string> settings;
  std::string fidelity = "flow";
  std::string transport;
  std::string routing;
  std::string seed;
  std::string links = "10";
  std::string bins;
  bool flows = true;
  LimitArguments limits;
  std::string format = "table";
};

std::vector<double> sizes_of(const std::vector<PlainFlow>& flows) {
  std::vector<double> sizes_B;
  sizes_B.reserve(flows.size());
  for (const PlainFlow& flow : flows) sizes_B.push_back(static_cast<double>(flow.size.count()));
  return sizes_B;
}

void explain(std::ostream& log, const TrafficFile& traffic, const FlowsPlayed& played) {
  constexpr std::size_t most_lines = 10;
  const std::size_t count = played.stranded.size();
  log << "sgdsim: the network is stuck: "
      << (played.circle.empty() ? "" : printable(played.circle) + "; ")
      << summary_of(played.why_stranded, "flow") << '\n';
  for (std::size_t i = 0; i < std::min(most_lines, count); ++i) {
    const PlainFlow& flow = traffic.flows[played.stranded[i]];
    log << "  flow " << played.stranded[i] << ": " << flow.size.count() << " B from worker "
        << flow.from << " to worker " << flow.to << ": " << reason_of(played.why_stranded[i])
        << '\n';
  }
  if (count > most_lines) log << "  and " << count - most_lines << " more\n";
}

// Played once more, since only now the busiest links are known.
void watch(Completion& completion, FlowsQuestion question, Resources& wires, int64_t bins) {
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

void play(const TrafficArguments& arguments, Streams streams, int& exit_code) {
  const int64_t links = parse_whole(arguments.links, 0, most_links_shown, "--links");
  const int64_t bins = bins_named(arguments.bins, links, arguments.format);
  const bool is_packets = arguments.fidelity == "packet";
  if (is_packets && !arguments.routing.empty())
    throw InputError("--routing", "packets go as their transport says: spray=per_flow, ...");
  if (!is_packets && !arguments.transport.empty())
    throw InputError("--transport", "has no effect without --fidelity packet");
  RouteChoice routes;
  if (!arguments.routing.empty()) routes.routing = routing_named(arguments.routing, "--routing");
  std::optional<uint64_t> seed;
  if (!arguments.seed.empty()) {
    seed = static_cast<uint64_t>(parse_whole(arguments.seed, 0, int64_t{1} << 62, "--seed"));
    routes.seed = *seed;
  }
  Json json = cluster_document(arguments.cluster).root().json();
  apply_settings(json, arguments.settings);
  const Cluster cluster = read_cluster(Value(json, arguments.cluster, "")).cluster;
  const std::unique_ptr<Resources> wires = cluster.wires(routes);
  const TrafficFile file = read_traffic(arguments.file, cluster, *wires, seed);
  const Json transport = transport_in(arguments.transport);
  MakeCarrier carrier;
  if (is_packets) {
    carrier = carrier_of(Value(transport, "--transport", ""), sizes_of(file.flows), routes.seed);
  }
  Interrupt interrupt;
  Stopper stopper([&] { interrupt.throw_if_asked(); }, limits_of(arguments.limits));
  const FlowsQuestion question{.flows = file.flows,
                               .network = &cluster.network,
                               .resources = wires.get(),
                               .carrier = carrier,
                               .changes = file.changes,
                               .watched = {},
                               .watched_queues = {},
                               .interval = {},
                               .stopper = &stopper};
  const FlowsPlayed played = play_flows(question);
  Completion completion =
      completion_of(file, played, cluster, *wires, static_cast<std::size_t>(links));
  if (bins > 0 && completion.ended > 0) watch(completion, question, *cluster.wires(routes), bins);
  if (arguments.format == "json") {
    Json result = {{"schema", "sgdsim/completion/1"},
                   {"traffic", file.name},
                   {"cluster", cluster.name},
                   {"workers", cluster.network.workers()},
                   {"fidelity", arguments.fidelity},
                   {is_packets ? "transport" : "routing",
                    is_packets ? transport["name"] : Json(name_of(routes.routing))},
                   {"complete", played.stranded.empty()},
                   {"flow_count", file.flows.size()}};
    result.update(to_json(completion));
    std::string text = result.dump(1);
    if (arguments.flows) {
      constexpr std::size_t closing = 2;
      streams.out << text.erase(text.size() - closing) << ",\n \"flows\": ";
      print_flows(streams.out, file, played);
      text = "\n}";
    }
    streams.out << text << '\n';
  } else {
    streams.out << file.name << ": " << file.flows.size() << " flows, "
                << short_size(completion.total_B) << ", on " << cluster.name << " ("
                << cluster.network.workers() << " workers)\n\n";
    print(streams.out, completion);
  }
  if (played.stranded.empty()) return;
  explain(streams.log, file, played);
  exit_code = exit_stuck;
}

}  // namespace

void add_traffic_command(CLI::App& program, Streams streams, int& exit_code) {
  CLI::App* command =
      program.add_subcommand("traffic", "Play plain flows on the wires of a cluster.");
  auto arguments = std::make_shared<TrafficArguments>();
  command
      ->add_option("TRAFFIC", arguments->file,
                   "a traffic file (JSON), a table start_us,from,to,size_B, or a connection matrix "
                   "of htsim; - is standard input")
      ->required();
  command->add_option("-c,--cluster", arguments->cluster, "cluster file")->required();
  make_repeatable(
      command->add_option("--set", arguments->settings, "change a field of the cluster: nodes=4"));
  command->add_option("--fidelity", arguments->fidelity, "flow (default) or packet")
      ->check(one_of("fidelity", {"flow", "packet"}));
  add_transport_option(*command, arguments->transport);
  add_routing_option(*command, arguments->routing);
  command->add_option("--seed", arguments->seed,
                      "of what is drawn, in place of the file's (default: 1)");
  command->add_option("--links", arguments->links, "how many of the busiest links (default: 10)");
  command->add_option(
      "--bins", arguments->bins,
      "JSON: the use of the busiest links over time, in this many intervals, and what "
      "waits in the longest queues of packets");
  add_limit_options(*command, arguments->limits);
  command->add_flag("--flows,!--no-flows", arguments->flows,
                    "JSON: every flow with its start and end (default: yes)");
  command->add_option("--format", arguments->format, "table or json (default: table)")
      ->check(one_of("format", {"table", "json"}));
  command->footer(
      "Examples:\n"
      "  sgdsim traffic app/flows/poisson_half.json -c topologies/data/fat_tree_k8.json\n"
      "  sgdsim traffic app/flows/incast_4.csv -c topologies/data/10gbe_16.json "
      "--format json");
  command->callback([arguments, streams, &exit_code] { play(*arguments, streams, exit_code); });
}

}  // namespace sgdsim
