// The k-ary fat tree (Al-Fares, Loukissas and Vahdat, SIGCOMM 2008): k pods of k/2 edge and k/2
// aggregation switches, (k/2)^2 core switches, k/2 nodes at each edge switch.
//
// That is 5k^2/4 switches of k ports and room for k^3/4 nodes, which are filled in order. Edge
// switch to edge switch there are k/2 shortest ways inside a pod and (k/2)^2 between pods. Core
// switch c is at aggregation switch c / (k/2) of every pod. `uplink` is every link between
// switches.
#include <algorithm>

#include "sim/core/cast.h"
#include "topologies/nodes.h"
#include "topologies/registry.h"

namespace sgdsim {
namespace {

constexpr int largest_k = 406;  // 16,730,854 nodes, the last below 2^24

struct Tree {
  Nodes nodes;
  int k = 2;
  Link uplink;
};

Graph build(const Tree& tree) {
  Graph graph;
  const int half = tree.k / 2;
  const Duration delay = tree.nodes.switch_latency;
  auto connect = [&](int from, int to) {
    graph.connect({.from = from, .to = to, .link_class = "uplink", .link = tree.uplink});
  };
  std::vector<int> cores;
  for (int core = 0; core < half * half; ++core)
    cores.push_back(add_switch(graph, "core" + std::to_string(core), delay));
  for (int pod = 0; pod < tree.k; ++pod) {
    const std::string name = "pod" + std::to_string(pod);
    std::vector<int> aggregations;
    for (int i = 0; i < half; ++i) {
      aggregations.push_back(add_switch(graph, name + "/aggregation" + std::to_string(i), delay));
      for (int j = i * half; j < (i + 1) * half; ++j)
        connect(aggregations.back(), cores[static_cast<std::size_t>(j)]);
    }
    for (int i = 0; i < half; ++i) {
      const int edge = add_switch(graph, name + "/edge" + std::to_string(i), delay);
      for (const int aggregation : aggregations) connect(edge, aggregation);
      const int first = (pod * half + i) * half;
      for (int node = first; node < std::min(first + half, tree.nodes.count); ++node)
        add_switched_node(graph, tree.nodes, node, edge);
    }
  }
  return graph;
}

// The uplinks of an edge switch, and those of a pod, are shared where cards ask for more.
void share_uplinks(const Tree& tree, Network& network) {
  if (!tree.nodes.nic) return;
  const double uplink_ps = tree.uplink.cost().per_byte.ps();
  if (uplink_ps * tree.nodes.nics <= tree.nodes.nic->cost().per_byte.ps() * (1 + 1e-9)) return;
  std::vector<SharedWays> ways = network.shared_ways();
  const int64_t half = tree.k / 2;
  for (const int64_t nodes : {half, half * half}) {
    const int64_t workers = std::min<int64_t>(nodes, tree.nodes.count) * tree.nodes.gpus;
    ways.push_back({static_cast<int>(workers), 1, {PerByte::ps(uplink_ps / real(nodes))}});
  }
  network.set_shared_ways(std::move(ways));
}

struct FatTreeFields {
  int k = 2;
  NodeFields nodes{.rule = NodeCount::Rule::at_most};
  Link uplink;
};

Json schema_of_k() {
  return {{"type", "integer"}, {"minimum", 2}, {"maximum", largest_k}, {"multipleOf", 2}};
}

Fields fields_of(FatTreeFields& o) {
  return Fields{Field("k", o.k, "ports of each switch, an even number: room for k^3/4 nodes")
                    .needed()
                    .from(2, largest_k)
                    .like(schema_of_k)
                    .also([](const Value& k) {
                      if (k.whole(2, largest_k) % 2 != 0)
                        k.fail("expected an even number of ports per switch, got " +
                               k.json().dump());
                    })} +
         switched_fields(o.nodes) +
         Fields{
             Field("uplink", o.uplink, "link between a switch and one of the next tier").needed()};
}

Wiring wire_fat_tree(Object& fields) {
  Tree tree;
  const auto given = read_record<FatTreeFields>(fields);
  tree.k = given.k;
  tree.uplink = given.uplink;
  const int half = tree.k / 2;
  const int room = half * half * tree.k;
  const std::string reason = "a fat tree of k = " + std::to_string(tree.k) + " has room for " +
                             std::to_string(room) + " nodes";
  tree.nodes = switched_nodes(fields, given.nodes, {NodeCount::Rule::at_most, room, reason});
  const Duration delay = tree.nodes.switch_latency;
  const Fabric fabric{NestedGroups{{half, half * half}},
                      {traversals(tree.uplink, 0, 1, delay), traversals(tree.uplink, 2, 3, delay),
                       traversals(tree.uplink, 4, 5, delay)}};
  const int64_t uplinks = int64_t{2} * tree.k * half * half;
  Network network = switched_network(tree.nodes, fabric);
  share_uplinks(tree, network);
  return {.network = std::move(network),
          .nodes = tree.nodes.count,
          .gpus_per_node = tree.nodes.gpus,
          .nodes_per_leaf = half,
          .connections = node_connections(tree.nodes) + uplinks,
          .graph = [tree] { return build(tree); }};
}

}  // namespace

Shape fat_tree() {
  return {"fat_tree", "three tiers of k-port switches in k pods", options_of<FatTreeFields>,
          wire_fat_tree};
}

}  // namespace sgdsim
