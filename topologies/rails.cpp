// Rails: GPU i of every node, by a network card of its own, at rail switch i of its pod.
//
// A pod ("scalable unit") of nodes has one switch for each rail; spines, if there are any, join the
// pods: every rail switch has one uplink to each. A GPU and its card are joined by `pcie`, the GPUs
// of a node by an NVSwitch. That is how clusters of NVIDIA's DGX machines are wired ("rail
// optimised"); without spines it is the rail-only network of Wang et al., "Rail-only: A Low-Cost
// High-Performance Network for Training LLMs with Trillion Parameters", 2023, where each rail is
// one switch.
//
// Who sends to another rail has two ways:
//
//   pxn true    NVLink to the GPU of its own node that is on the receiver's rail, then the card of
//               that GPU (NCCL's PXN, since 2.12). No message changes rails behind a card.
//   pxn false   its own card, rail switch, spine, the other rail switch.
//
// In the graph a GPU that relays is two vertices, one at NVLink and one at PCIe; the free links
// from the first to the second and from there to the GPU go one way, so that nobody relays for
// messages that come in. With PXN a spine is drawn as one part for each rail, since no message goes
// from one to another there.
#include "topologies/nodes.h"
#include "topologies/pair_classes.h"
#include "topologies/registry.h"
#include "topologies/uplinks.h"

namespace sgdsim {
namespace {

struct RailFields {
  int nodes = 1;
  int gpus_per_node = 1;
  std::optional<int> nodes_per_pod = {};
  int spines = 0;
  bool pxn = true;
  Link gpu_link = {};
  Link pcie = {};
  Link nic = {};
  UplinkFields uplinks = {};
  Duration switch_latency = {};
};

constexpr int most_rails = 1024;

Fields fields_of(RailFields& o) {
  return Fields{
             Field("nodes", o.nodes, "number of nodes").needed().from(1, most_workers),
             Field("gpus_per_node", o.gpus_per_node,
                   "GPUs of each node, each with a network card of its own: as many rails")
                 .from(1, most_rails),
             Field("nodes_per_pod", o.nodes_per_pod,
                   "nodes of a pod, which has a switch for each rail; the last pod has what is "
                   "left")
                 .from(1, most_workers)
                 .otherwise("all"),
             Field("spines", o.spines,
                   "spine switches above all pods; every rail switch has one uplink to each")
                 .from(0, 65536),
             Field("pxn", o.pxn,
                   "messages to another rail go over NVLink to the GPU of their node that is on "
                   "it, and leave by its card; or over a spine"),
             Field("gpu_link", o.gpu_link,
                   "link from a GPU to the NVSwitch of its node; two GPUs of a node are two such "
                   "links apart")
                 .needed(),
             Field("pcie", o.pcie, "link from a GPU to its network card").needed(),
             Field("nic", o.nic, "link from a network card to the switch of its rail").needed()} +
         uplink_fields(o.uplinks) + Fields{switch_latency_field(o.switch_latency)};
}

struct Pods {
  RailFields is;
  int per_pod = 1;
  Link uplink = {};

  int gpus() const { return is.gpus_per_node; }
  int workers() const { return is.nodes * gpus(); }
  int pods() const { return (is.nodes - 1) / per_pod + 1; }
  bool relays() const { return is.pxn && gpus() > 1; }
};

// ---- what a pair pays

Network network_of(const Pods& shape) {
  const Duration delay = shape.is.switch_latency;
  const auto between_cards = [&](int64_t hops, int64_t switches) {
    const PairCost nics = traversals(shape.is.nic, 2, 0, {});
    const PairCost ends = in_series(nics, traversals(shape.is.pcie, 2, 0, {}));
    return in_series(ends, traversals(shape.uplink, hops, switches, delay));
  };
  const PairCost inside = traversals(shape.is.gpu_link, 2, 0, {});
  const PairCost under_one = between_cards(0, 1);
  const PairCost over_spine = between_cards(2, 3);
  const auto other_rail = [&](const PairCost& same_rail) {
    return shape.relays() ? in_series(inside, same_rail) : over_spine;
  };
  const std::array<PairCost, 5> costs = {inside, under_one, other_rail(under_one), over_spine,
                                         other_rail(over_spine)};
  const bool has_others = shape.gpus() > 1;
  const bool has_neighbours = shape.per_pod > 1 && shape.is.nodes > 1;
  const bool has_pods = shape.pods() > 1;
  const std::array<bool, 5> has_pairs = {has_others, has_neighbours, has_neighbours && has_others,
                                         has_pods, has_pods && has_others};
  Rails rule{shape.gpus(), shape.per_pod * shape.gpus(), {}};
  ClassList list;
  for (std::size_t kind = 0; kind < costs.size(); ++kind)
    if (has_pairs[kind]) rule.classes[kind] = list.number(costs[kind]);
  std::vector<PairCost> used = list.costs();
  if (used.empty()) used.push_back(inside);  // a single worker has no pairs
  if (used.size() == 1) return {shape.workers(), OneClass{}, std::move(used)};
  return {shape.workers(), rule, std::move(used)};
}

// Cards are shared where GPUs relay, uplinks by all that a switch has below it.
std::vector<SharedWays> ways_of(const Pods& shape) {
  using Lanes = SharedWays::Lanes;
  const Lanes lanes = shape.relays() ? Lanes::receivers : Lanes::own;
  std::vector<SharedWays> all;
  if (shape.relays())
    all.push_back({shape.gpus(), shape.gpus(), {shape.is.nic.cost().per_byte}, lanes});
  if (shape.is.spines > 0)
    all.push_back({shape.per_pod * shape.gpus(),
                   shape.gpus(),
                   {PerByte::ps(shape.uplink.cost().per_byte.ps() / shape.is.spines)},
                   lanes});
  return all;
}

// ---- the graph

class Drawing {
 public:
  explicit Drawing(const Pods& shape) : shape_(shape) {}
  Graph take() {
    add_spines();
    for (int pod = 0; pod < shape_.pods(); ++pod) {
      const std::vector<int> rails = add_rails(pod);
      const int end = std::min((pod + 1) * shape_.per_pod, shape_.is.nodes);
      for (int node = pod * shape_.per_pod; node < end; ++node) add_node(node, rails);
    }
    return std::move(graph_);
  }

 private:
  void add_spines() {
    for (int spine = 0; spine < shape_.is.spines; ++spine) {
      const std::string name = "spine" + std::to_string(spine);
      std::vector<int>& parts = spines_.emplace_back();
      if (!shape_.relays()) {
        parts.assign(static_cast<std::size_t>(shape_.gpus()),
                     add_switch(graph_, name, shape_.is.switch_latency));
        continue;
      }
      for (int rail = 0; rail < shape_.gpus(); ++rail)
        parts.push_back(
            add_switch(graph_, name + "/rail" + std::to_string(rail), shape_.is.switch_latency));
    }
  }
  std::vector<int> add_rails(int pod) {
    std::vector<int> rails;
    for (int rail = 0; rail < shape_.gpus(); ++rail) {
      const std::string name = "pod" + std::to_string(pod) + "/rail" + std::to_string(rail);
      rails.push_back(add_switch(graph_, name, shape_.is.switch_latency));
      for (const std::vector<int>& parts : spines_)
        graph_.connect({.from = rails.back(),
                        .to = parts[static_cast<std::size_t>(rail)],
                        .link_class = "uplink",
                        .link = shape_.uplink});
    }
    return rails;
  }
  void add_node(int node, const std::vector<int>& rails) {
    const std::string name = "node" + std::to_string(node);
    const int inside = add_switch(graph_, name + "/switch", {}, VertexKind::nvswitch);
    for (int gpu = 0; gpu < shape_.gpus(); ++gpu) {
      const std::string gpu_name = name + "/gpu" + std::to_string(gpu);
      const int worker = graph_.add({.name = gpu_name,
                                     .kind = VertexKind::gpu,
                                     .worker = node * shape_.gpus() + gpu,
                                     .forwards = false,
                                     .digits = node});
      const int card = add_switch(graph_, name + "/nic" + std::to_string(gpu), {}, VertexKind::nic);
      if (shape_.relays())
        add_relay(gpu_name, worker, inside, card);
      else
        add_links(worker, inside, worker, card);
      graph_.connect({.from = card,
                      .to = rails[static_cast<std::size_t>(gpu)],
                      .link_class = "nic",
                      .link = shape_.is.nic,
                      .avoid = true});
    }
  }
  void add_links(int at_nvlink, int inside, int at_pcie, int card) {
    graph_.connect(
        {.from = at_nvlink, .to = inside, .link_class = "gpu_link", .link = shape_.is.gpu_link});
    graph_.connect({.from = at_pcie, .to = card, .link_class = "pcie", .link = shape_.is.pcie});
  }
  void add_relay(const std::string& name, int worker, int inside, int card) {
    const int at_nvlink = add_switch(graph_, name + "/nvlink", {}, VertexKind::nvswitch);
    const int at_pcie = add_switch(graph_, name + "/pcie", {}, VertexKind::pcie);
    graph_.connect({.from = worker, .to = at_nvlink, .link_class = "gpu"});
    graph_.connect({.from = at_nvlink, .to = at_pcie, .link_class = "gpu", .both_ways = false});
    graph_.connect({.from = at_pcie, .to = worker, .link_class = "gpu", .both_ways = false});
    add_links(at_nvlink, inside, at_pcie, card);
  }

  const Pods& shape_;
  Graph graph_;
  std::vector<std::vector<int>> spines_;  // of each, what leads to each rail
};

int64_t connections_of(const Pods& shape) {
  const int64_t of_gpu = shape.relays() ? 6 : 3;
  return shape.workers() * of_gpu + int64_t{shape.pods()} * shape.gpus() * shape.is.spines;
}

// ---- reading

void check(Object& fields, const Pods& shape) {
  if (int64_t{shape.is.nodes} * shape.gpus() > most_workers)
    fields.value().fail(std::to_string(shape.is.nodes) + " nodes of " +
                        std::to_string(shape.gpus()) + " GPUs are more than " +
                        std::to_string(most_workers) + " workers");
  // Where more nodes follow, the uplinks that there are stay as they are.
  if (shape.is.uplinks.oversubscription && !shape.is.nodes_per_pod) fields.at("nodes_per_pod");
  if (shape.is.spines > 0) return;
  for (const char* name : {"uplink", "oversubscription"})
    if (fields.has(name))
      fields.at(name).fail("without spines there are no uplinks: give \"spines\", or leave it out");
  if (shape.pods() > 1)
    fields.at("nodes_per_pod")
        .fail(std::to_string(shape.pods()) +
              " pods need spines between them: give \"spines\", or "
              "leave nodes_per_pod out, so that all nodes are one pod");
  if (!shape.is.pxn && shape.gpus() > 1 && shape.is.nodes > 1)
    fields.at("pxn").fail(
        "without spines other rails are reached over NVLink only: give \"spines\", or leave pxn at "
        "true");
}

Wiring wire_rails(Object& fields) {
  Pods shape{.is = read_record<RailFields>(fields)};
  shape.per_pod = std::min(shape.is.nodes_per_pod.value_or(shape.is.nodes), shape.is.nodes);
  check(fields, shape);
  if (shape.is.spines > 0)
    shape.uplink = uplink_of(shape.is.uplinks,
                             {shape.is.nic, 1, shape.is.nodes_per_pod.value_or(shape.is.nodes)},
                             shape.is.spines);
  Network network = network_of(shape);
  network.set_shared_ways(ways_of(shape));
  return {.network = std::move(network),
          .nodes = shape.is.nodes,
          .gpus_per_node = shape.gpus(),
          .nodes_per_leaf = shape.per_pod,
          .connections = connections_of(shape),
          .graph = [shape] { return Drawing(shape).take(); }};
}

}  // namespace

Shape rails() {
  return {"rails", "GPU i of every node at rail switch i of its pod, spines above the pods",
          options_of<RailFields>, wire_rails};
}

}  // namespace sgdsim
