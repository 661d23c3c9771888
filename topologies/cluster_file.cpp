// The fields that every shape has; the rest is the shape's own.
#include "topologies/cluster_file.h"

#include <algorithm>
#include <array>

#include "sim/core/decimal.h"
#include "sim/core/error.h"
#include "sim/core/named.h"
#include "sim/core/quantity.h"
#include "topologies/drawn_cards.h"
#include "topologies/registry.h"
#include "topologies/routed_wires.h"
#include "topologies/segments.h"

namespace sgdsim {
namespace {

constexpr int64_t most_connections = int64_t{1} << 22;

struct ClusterFields {
  FileHead head;
  NetworkKind network = NetworkKind::unsaid;
  std::optional<Sharing> sharing;
  Bytes window = usual_window;
  std::optional<double> acknowledgements;
  Duration start;
  std::optional<NcclConstants> nccl;
  std::string gpu;
  Bytes gpu_memory;
};

void check_window(const Value& window) {
  constexpr int64_t most = int64_t{1} << 31;
  if (window.bytes().count() < 1 || window.bytes().count() > most)
    window.fail("expected 1 B to " + to_text(Bytes(most)));
}

Fields fields_of(ClusterFields& o) {
  return head_fields(o.head, cluster_schema) +
         Fields{Field("network", o.network,
                      "what sends the messages, so that options that were not given are those of "
                      "it: over TCP sends are buffered and start-ups are flight time; in the "
                      "models of papers a start-up keeps both ports busy; see "
                      "docs/cluster-format.md")
                    .otherwise("paper"),
                Field("sharing", o.sharing,
                      "fidelity flow, who gets what of a wire that several messages want: queues "
                      "(who comes first is served first, as on real TCP) or max_min (all at once, "
                      "evenly)")
                    .otherwise("queues over TCP, else max_min, and where links have segments"),
                Field("window", o.window,
                      "bytes that a connection of TCP has in its sender, on wires and in queues at "
                      "most, and that a sender hands over without waiting")
                    .also(check_window),
                Field("acknowledgements", o.acknowledgements,
                      "of the bytes that workers get, the part that goes back as "
                      "acknowledgements: in collectives, those who get something meanwhile send "
                      "as much slower; 0.0029 is 52 B for two packets of 9,000 B, 0.018 the same "
                      "for 1,500 B")
                    .from(0, 1)
                    .otherwise("0.0029 over TCP, else 0"),
                Field("start", o.start,
                      "what a collective costs every worker once, before its first message; not "
                      "of parameter servers")
                    .also([](const Value& value) { read_latency(value); }),
                Field("gpu", o.gpu,
                      "its GPUs, by a name of `sgdsim list gpus` or another one: layouts are "
                      "priced for them unless others are asked for")
                    .otherwise("not said"),
                Field("gpu_memory", o.gpu_memory,
                      "of each GPU, where it has not what others of that name have")
                    .also([](const Value& memory) {
                      if (memory.bytes() <= Bytes()) memory.fail("expected more than 0 B");
                    })
                    .otherwise("that of the GPU's file"),
                Field("nccl", o.nccl,
                      "NCCL on these machines, for NCCL's own model: latencies and efficiencies in "
                      "place of its constants, as `sgdsim fit --from-collective nccl` finds them; "
                      "see docs/calibrate.md")};
}

constexpr std::size_t most_bands = 256;  // each makes the file be read once more

// The network as messages of each segment see it: the file is read once more for each.
// Their graphs are the same but for what links cost.
std::vector<std::function<Graph()>> add_bands(const Value& value, const Shape& shape,
                                              Network& network) {
  std::vector<SizeBand> bands;
  std::vector<std::function<Graph()>> graphs;
  const std::vector<Bytes> starts = segment_starts(value.json());
  if (starts.size() > most_bands)
    value.fail("its links name " + std::to_string(starts.size()) +
               " different sizes in \"segments\" and \"rendezvous\"; at most " +
               std::to_string(most_bands) + " are read");
  for (const Bytes from : starts) {
    const Json json = at_size(value.json(), from);
    Object fields(Value(json, value.file(), value.path()));
    Wiring wiring = shape.wire(fields);
    bands.push_back({static_cast<double>(from.count()), std::move(wiring.network)});
    graphs.push_back(std::move(wiring.graph));
  }
  network.set_bands(std::move(bands));
  return graphs;
}

// Links between routers carry what several pairs send, which no cost of a pair knows. Cards and the
// uplinks of a leaf-spine are charged (sim/play/sharing.h); a fat tree has a way for everybody.
std::vector<std::string> notes_of(const Shape& shape, int nodes) {
  constexpr std::array<std::string_view, 5> shared = {"chain", "ring", "torus", "dragonfly",
                                                      "explicit"};
  if (nodes <= 2 || std::find(shared.begin(), shared.end(), shape.name) == shared.end()) return {};
  return {"contention on links inside the " + std::string(shape.name) +
          " network is not modelled: each message has its route to itself"};
}

// A card is never full if the PCIe of the GPUs behind it is slower than it is.
std::string cards_note_of(const Value& value, int gpus) {
  const Json& json = value.json();
  if (gpus == 1 || !json.contains("pcie") || !json.contains("nic")) return "";
  for (const char* link : {"pcie", "nic"})
    if (json.at(link).contains("segments")) return "";  // rates differ with the size
  std::vector<Crowding::Point> over_senders;
  const double card_ps = read_nic(value.child("nic"), over_senders).cost().per_byte.ps();
  const double pcie_ps = read_link(value.child("pcie")).cost().per_byte.ps();
  const int usual_cards = json.at("shape") == "rails" ? gpus : 1;
  const int cards = json.value("nics_per_node", usual_cards);
  const int behind = (gpus + cards - 1) / cards;
  if (pcie_ps < card_ps * behind || pcie_ps == 0) return "";
  return "the bandwidth of network cards makes no difference: the PCIe of the GPUs behind a card "
         "is "
         "no faster than the card, " +
         to_text(Bandwidth::Bps(behind / pcie_ps * 1e12)) + (behind > 1 ? " in all" : "");
}

// Where the nodes that there are do not notice further ones. (In a ring they do.)
std::function<Cluster(int)> growing(const Value& value, const Shape& shape, int nodes) {
  constexpr std::array<std::string_view, 7> alike = {
      "single_switch", "chain", "fully_connected", "nvlink_box", "leaf_spine", "fat_tree", "rails"};
  if (std::find(alike.begin(), alike.end(), shape.name) == alike.end()) return {};
  return [json = std::make_shared<const Json>(value.json()), file = value.file(),
          path = value.path(), nodes](int more) {
    Json larger = *json;
    larger["nodes"] = nodes + more;
    return read_cluster(Value(larger, file, path)).cluster;
  };
}

Graph graph_of(int64_t connections, const std::function<Graph()>& build, const std::string& where) {
  if (connections > most_connections)
    throw InputError(where, "the graph would have " + std::to_string(connections) +
                                " links; at most " + std::to_string(most_connections) +
                                " can be drawn or routed");
  return build();
}

// What is beyond the curve has its last value, and somebody should know.
void add_crowding_note(ClusterFile& file) {
  const std::vector<Crowding::Point>& points = file.cluster.network.crowding().points;
  if (file.nodes <= points.back().senders) return;
  file.cluster.notes.push_back("the efficiency over senders is known up to " +
                               std::to_string(points.back().senders) + " senders, and " +
                               std::to_string(file.nodes) +
                               " nodes may send at once: beyond, it is that of the last");
}

// A connection that has sent its window waits until the first of it is acknowledged, which is there
// and back again: on long ways that is less than links carry.
void add_window_note(Cluster& cluster) {
  constexpr double worth_saying = 0.95;
  if (cluster.sharing != Sharing::queues) return;
  double least = worth_saying;  // of what links carry
  Duration round_trip;
  double allowed_Bps = 0;
  for (const PairCost& pair : cluster.network.classes()) {
    if (pair.latency <= Duration() || pair.per_byte.ps() <= 0) continue;
    const double here_Bps = static_cast<double>(cluster.window.count()) / (2 * pair.latency).s();
    const double part = here_Bps * pair.per_byte.ps() * 1e-12;
    if (part >= least) continue;
    least = part;
    round_trip = 2 * pair.latency;
    allowed_Bps = here_Bps;
  }
  if (allowed_Bps == 0) return;
  const Bandwidth allowed = Bandwidth::Bps(with_digits(allowed_Bps, 3));
  cluster.notes.push_back(
      "a connection has " + to_text(cluster.window) + " under way at most (`window`), which over " +
      to_text(round_trip) + " there and back is " + to_text(allowed) + ", " +
      number_text(with_digits(100 * least, 3)) +
      " % of what the link carries: formulas and fidelity message leave that out for larger "
      "messages; --fidelity flow and packet count it");
}

}  // namespace

const Shape& find_shape(const Value& name) {
  return part_named(shapes(), "shape", name.text(), name.where());
}

Json schema_of_clusters() {
  ClusterFields usual;
  Json json = schema_of_parts_by("shape", texts_of(shapes()), schema_of(fields_of(usual)));
  json["$defs"] = schemas_of_links();
  return json;
}

ClusterFile read_cluster(const Value& value) {
  Object fields(value);
  const auto given = read_record<ClusterFields>(fields);
  const Shape& shape = find_shape(fields.at("shape"));
  std::string name = given.head.name.empty() ? std::string(shape.name) : given.head.name;
  std::string description = given.head.description;
  std::string source = given.head.source;
  std::string gpu = given.gpu;
  const NetworkKind kind = given.network;
  const Duration start = given.start;
  std::shared_ptr<const NcclConstants> nccl;
  if (given.nccl) nccl = std::make_shared<const NcclConstants>(*given.nccl);
  Wiring wiring = shape.wire(fields);
  fields.done();
  std::vector<std::function<Graph()>> bands = add_bands(value, shape, wiring.network);
  wiring.network.set_start(start);
  const bool has_two_links = value.json().contains("pcie") || shape.name == "explicit";
  wiring.network.set_inner_links({wiring.gpus_per_node, !has_two_links});
  if (sends_over_tcp(kind) || given.acknowledgements)
    wiring.network.acknowledge(given.acknowledgements.value_or(usual_acknowledged),
                               wiring.gpus_per_node);
  // Segments are costs of whole messages, which queue in no packets.
  const bool has_rates_by_size = has_segments(value.json());
  if (!has_rates_by_size) bands.clear();  // then wires are the same for all sizes
  const bool may_queue = sends_over_tcp(kind) && !has_rates_by_size;
  const Sharing usual_sharing = may_queue ? Sharing::queues : Sharing::max_min;
  ClusterFile file{.cluster = {.name = std::move(name),
                               .network = std::move(wiring.network),
                               .workers_per_node = wiring.gpus_per_node,
                               .grid = std::move(wiring.grid),
                               .notes = notes_of(shape, wiring.nodes),
                               .cards_note = cards_note_of(value, wiring.gpus_per_node),
                               .workers_per_leaf = static_cast<int>(
                                   std::min<int64_t>(wiring.nodes_per_leaf, wiring.nodes) *
                                   wiring.gpus_per_node),
                               .gpu = std::move(gpu),
                               .gpu_memory = given.gpu_memory,
                               .valid = valid_range(value.json()),
                               .kind = kind,
                               .sharing = given.sharing.value_or(usual_sharing),
                               .window = given.window,
                               .nccl = std::move(nccl)},
                   .shape = std::string(shape.name),
                   .description = std::move(description),
                   .source = std::move(source),
                   .nodes = wiring.nodes,
                   .connections = wiring.connections,
                   .build = std::move(wiring.graph),
                   .where = value.where()};
  add_window_note(file.cluster);
  const bool is_crowded = file.cluster.network.crowding().any();
  if (is_crowded) add_crowding_note(file);
  const std::string crowded =
      is_crowded ? value.child("nic").child("efficiency").where() : std::string();
  file.cluster.wires = [connections = file.connections, build = file.build, where = file.where,
                        crowded, bands = std::move(bands)](const RouteChoice& choice) {
    if (!crowded.empty()) throw InputError(crowded, crowding_is_for("messages on wires"));
    auto wires = std::make_unique<RoutedWires>(graph_of(connections, build, where), choice);
    for (const std::function<Graph()>& band : bands) wires->widen(band());
    return wires;
  };
  const int workers = file.cluster.network.workers();
  if (shape.name == "explicit" && wiring.gpus_per_node > 1 && workers > wiring.gpus_per_node)
    file.cluster.drawn_cards = drawn_cards(*file.cluster.wires({}), workers, wiring.gpus_per_node);
  file.cluster.with_more = growing(value, shape, file.nodes);
  return file;
}

std::string_view name_of(NetworkKind kind) {
  return kind == NetworkKind::unsaid ? std::string_view() : name_in(network_kinds, kind);
}

std::string assumed_network(const Cluster& cluster, const std::string& setting) {
  constexpr Duration short_start_up = Duration::us(5);
  const Duration latency = cluster.network.worst().latency;
  if (cluster.kind != NetworkKind::unsaid || latency <= short_start_up) return "";
  return cluster.name + " does not say what sends its messages (\"network\"): a start-up of " +
         to_text(latency) + " keeps both ports busy, as in papers (network=paper); for TCP write " +
         setting;
}

ClusterFile read_cluster_file(const std::string& file) {
  const Document document = Document::read(file);
  return read_cluster(document.root());
}

Graph ClusterFile::graph() const { return graph_of(connections, build, where); }

}  // namespace sgdsim
