// Two tiers: nodes at leaf switches, every leaf linked to every spine.
//
// A pair under one leaf passes one switch; any other pair passes leaf, spine, leaf and two uplinks.
// `oversubscription` r sets the rate of an uplink from the others: all uplinks of a leaf together
// carry 1/r of what its nodes can send. A pair alone does not feel that beyond the rate of a single
// uplink; messages of one round that leave or enter a leaf together share its uplinks evenly.

#include <algorithm>

#include "topologies/nodes.h"
#include "topologies/registry.h"

namespace sgdsim {
namespace {

struct Tiers {
  Nodes nodes;
  int nodes_per_leaf = 1;
  int spines = 1;
  Link uplink;
  int leaves() const { return (nodes.count - 1) / nodes_per_leaf + 1; }
};

// Without "uplink" the cables between switches are of the same class as the nodes' cards; switches
// do not fold.
Link read_uplink(Object& fields, const Tiers& tiers) {
  const auto ratio = fields.find("oversubscription");
  const auto value = fields.find("uplink");
  if (!tiers.nodes.nic) fields.at("nic");
  const Link& nic = *tiers.nodes.nic;
  Link usual = nic;
  usual.reduce = {};
  if (!ratio) return value ? read_link(*value) : usual;
  const double rate_ps =
      nic.per_byte.ps() / tiers.nodes.nics * tiers.spines * ratio->number(0.001, 1e6);
  LinkFields given;
  if (value) {
    Object uplink(*value);
    given = read_link_fields(uplink);
    uplink.done();
    if (!given.latency) uplink.at("latency");
    if (given.per_byte)
      value->fail("has a rate, but \"oversubscription\" sets it; keep one of the two");
    usual = {};
  }
  given.per_byte = PerByte::ps(rate_ps / tiers.nodes_per_leaf);
  return changed(usual, given);
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

}  // namespace

Wiring leaf_spine(Object& fields) {
  Tiers tiers;
  tiers.nodes = read_switched_nodes(fields, {}, Boxes::if_several_gpus);
  tiers.nodes_per_leaf = read_whole(fields, "nodes_per_leaf", 1, most_workers);
  tiers.spines = read_whole(fields, "spines", 1, 65536);
  tiers.uplink = read_uplink(fields, tiers);
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
          .connections = node_connections(tiers.nodes) + int64_t{tiers.leaves()} * tiers.spines,
          .graph = [tiers = std::move(tiers)] { return build(tiers); }};
}

}  // namespace sgdsim
