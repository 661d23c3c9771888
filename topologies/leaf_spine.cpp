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

struct LeafSpine {
  NodeFields nodes;
  int nodes_per_leaf = 1;
  int spines = 1;
  std::optional<Value> uplink;
  std::optional<double> oversubscription;
};

Json schema_of_uplink() { return reference("../cluster/1#/$defs/link_without_rate"); }

// Oversubscription sets the rate of an uplink, which has one else.
Json schema_of_rates() {
  const Json has_rate = {
      {"anyOf",
       {{{"required", Json::array({"bandwidth"})}}, {{"required", Json::array({"per_byte"})}}}}};
  return {{"if", {{"required", Json::array({"oversubscription"})}}},
          {"then", {{"properties", {{"uplink", {{"not", has_rate}}}}}}},
          {"else", {{"properties", {{"uplink", has_rate}}}}}};
}

Fields fields_of(LeafSpine& o) {
  return (switched_fields(o.nodes) +
          Fields{Field("nodes_per_leaf", o.nodes_per_leaf,
                       "nodes at each leaf switch; the last leaf has what is left")
                     .needed()
                     .from(1, most_workers),
                 Field("spines", o.spines, "spine switches; every leaf has one uplink to each")
                     .needed()
                     .from(1, 65536),
                 Field("uplink", o.uplink, "link between a leaf and a spine")
                     .like(schema_of_uplink)
                     .otherwise("of the class of nic"),
                 Field("oversubscription", o.oversubscription,
                       "rate of all nodes of a full leaf divided by the rate of all its uplinks, "
                       "which so have no rate of their own")
                     .from(0.001, 1e6)
                     .otherwise("uplink has a rate of its own")})
      .also(schema_of_rates);
}

// Without "uplink" the cables between switches are of the same class as the nodes' cards; switches
// do not fold.
Link uplink_of(const LeafSpine& given, const Tiers& tiers) {
  const Link& nic = *tiers.nodes.nic;
  Link usual = nic;
  usual.reduce = {};
  if (!given.oversubscription) return given.uplink ? read_link(*given.uplink) : usual;
  const double rate_ps =
      nic.per_byte.ps() / tiers.nodes.nics * tiers.spines * *given.oversubscription;
  LinkFields link;
  if (given.uplink) {
    Object uplink(*given.uplink);
    link = read_link_fields(uplink);
    uplink.done();
    if (!link.latency) uplink.at("latency");
    if (link.per_byte)
      given.uplink->fail("has a rate, but \"oversubscription\" sets it; keep one of the two");
    usual = {};
  }
  link.per_byte = PerByte::ps(rate_ps / tiers.nodes_per_leaf);
  return changed(usual, link);
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
  tiers.uplink = uplink_of(given, tiers);
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

}  // namespace

Shape leaf_spine() {
  return {"leaf_spine", "two tiers: every leaf switch linked to every spine switch",
          options_of<LeafSpine>, wire_leaf_spine};
}

}  // namespace sgdsim
