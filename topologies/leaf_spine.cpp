// Two tiers: nodes at leaf switches, every leaf linked to every spine.
//
// A pair under one leaf passes one switch; any other pair passes leaf, spine, leaf and two uplinks.
// `oversubscription` r sets the rate of an uplink from the others: all uplinks of a leaf together
// carry 1/r of what its nodes can send. A pair alone does not feel that beyond the rate of a single
// uplink; messages of one round that leave or enter a leaf together share its uplinks evenly.

#include <algorithm>

#include "topologies/nodes.h"
#include "topologies/registry.h"
#include "topologies/uplinks.h"

namespace sgdsim {
namespace {

struct Tiers {
  Nodes nodes;
  int nodes_per_leaf = 1;
  int spines = 1;
  Link uplink;
  int leaves() const { return (nodes.count - 1) / nodes_per_leaf + 1; }
};

struct LeafSpine {
  NodeFields nodes;
  int nodes_per_leaf = 1;
  int spines = 1;
  UplinkFields uplinks;
};

Fields fields_of(LeafSpine& o) {
  return switched_fields(o.nodes) +
         Fields{Field("nodes_per_leaf", o.nodes_per_leaf,
                      "nodes at each leaf switch; the last leaf has what is left")
                    .needed()
                    .from(1, most_workers),
                Field("spines", o.spines, "spine switches; every leaf has one uplink to each")
                    .needed()
                    .from(1, 65536)} +
         uplink_fields(o.uplinks);
}

Graph build(const Tiers& tiers) {
  Graph graph;
  std::vector<int> spines;
  for (int spine = 0; spine < tiers.spines; ++spine)
    spines.push_back(
        add_switch(graph, "spine" + std::to_string(spine), tiers.nodes.switch_latency));
  for (int leaf = 0; leaf < tiers.leaves(); ++leaf) {
    const int vertex = add_switch(graph, "leaf" + std::to_string(leaf), tiers.nodes.switch_latency);
    for (const int spine : spines)
      graph.connect({.from = vertex, .to = spine, .link_class = "uplink", .link = tiers.uplink});
    const int first = leaf * tiers.nodes_per_leaf;
    const int last = std::min(first + tiers.nodes_per_leaf, tiers.nodes.count);
    for (int node = first; node < last; ++node) add_switched_node(graph, tiers.nodes, node, vertex);
  }
  return graph;
}

Wiring wire_leaf_spine(Object& fields) {
  Tiers tiers;
  const auto given = read_record<LeafSpine>(fields);
  tiers.nodes = switched_nodes(fields, given.nodes);
  tiers.nodes_per_leaf = given.nodes_per_leaf;
  tiers.spines = given.spines;
  if (!tiers.nodes.nic) fields.at("nic");
  tiers.uplink = uplink_of(
      given.uplinks, {*tiers.nodes.nic, tiers.nodes.nics, tiers.nodes_per_leaf}, tiers.spines);
  const Duration delay = tiers.nodes.switch_latency;
  const Fabric fabric{
      NestedGroups{{tiers.nodes_per_leaf}},
      {traversals(tiers.uplink, 0, 1, delay), traversals(tiers.uplink, 2, 3, delay)}};
  Network network = switched_network(tiers.nodes, fabric);
  std::vector<SharedWays> ways = network.shared_ways();
  const int64_t of_leaf = int64_t{tiers.nodes_per_leaf} * tiers.nodes.gpus;
  ways.push_back({static_cast<int>(std::min<int64_t>(of_leaf, tiers.nodes.workers())),
                  1,
                  {PerByte::ps(tiers.uplink.cost().per_byte.ps() / tiers.spines)}});
  network.set_shared_ways(std::move(ways));
  return {.network = std::move(network),
          .nodes = tiers.nodes.count,
          .gpus_per_node = tiers.nodes.gpus,
          .nodes_per_leaf = tiers.nodes_per_leaf,
          .connections = node_connections(tiers.nodes) + int64_t{tiers.leaves()} * tiers.spines,
          .graph = [tiers = std::move(tiers)] { return build(tiers); }};
}

}  // namespace

Shape leaf_spine() {
  return {"leaf_spine", "two tiers: every leaf switch linked to every spine switch",
          options_of<LeafSpine>, wire_leaf_spine};
}

}  // namespace sgdsim
