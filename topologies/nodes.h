// The nodes of a cluster: their GPUs, and how a GPU reaches the first switch of the network.
//
// A plain node is one GPU with its `nic`. A boxed node has GPUs behind a switch of its own:
//
//   without `pcie`   GPU --gpu_link-- switch j --nic-- network      one switch per NIC, joined by a
//                                                                   backplane that costs nothing
//   with `pcie`      GPU --gpu_link-- NVSwitch, and                 inside the node
//                    GPU --pcie-- switch j --nic-- network          to other nodes
//
// GPU g of a node uses NIC j = g * nics / gpus. In a shape whose links join nodes directly (chain,
// ring, torus, fully_connected) a plain node is the GPU itself, and a boxed one is a router with
// GPUs behind `gpu_link`. Which of them share a NIC matters to contention, not to the cost of a
// pair, so a pair of workers is one of two classes here: in one node, or not.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "topologies/wiring.h"

namespace sgdsim {

// Links of single nodes or workers that differ from the others'.
class OwnLinks {
 public:
  bool empty() const { return links_.empty(); }
  // False if this one has a link already.
  bool add(int number, const Link& link);
  // Null: it is like the others.
  const Link* find(int number) const;

 private:
  std::vector<int> places_;  // by number: where in links_, or -1
  std::vector<Link> links_;
};

struct Nodes {
  int count = 1;
  int gpus = 1;
  int nics = 1;
  bool boxed = false;
  std::optional<Link> nic;                    // only a single boxed node may lack it
  std::vector<Crowding::Point> over_senders;  // efficiency of the cards, by nodes' messages at once
  Link gpu_link;
  std::optional<Link> pcie;
  Duration switch_latency;  // of every switch, router or worker passed on the way
  OwnLinks own_nics;        // by node
  OwnLinks own_gpu_links;   // by worker

  int workers() const { return count * gpus; }
  const Link& nic_of(int node) const;
  const Link& gpu_link_of(int worker) const;
};

// How many nodes a shape has room for, when its other fields say so.
struct NodeCount {
  enum class Rule { free, at_most, exactly };
  Rule rule = Rule::free;
  int64_t nodes = most_workers;  // the default of the field, unless free
  std::string reason;            // "a fat tree of k = 8 has 128 nodes"
};

enum class Boxes { if_several_gpus, always };

struct Nic {
  Link link;
  std::vector<Crowding::Point> over_senders;
};
inline void read_value(const Value& value, Nic& nic) {
  nic.link = read_nic(value, nic.over_senders);
}
inline Json schema_of_value(const Nic&) { return reference("../cluster/1#/$defs/nic"); }

// nodes, gpus_per_node, the links of a node, switch_latency and ports.
struct NodeFields {
  NodeCount::Rule rule = NodeCount::Rule::free;
  Boxes boxes = Boxes::if_several_gpus;
  std::optional<int> nodes = {};
  int gpus_per_node = 1;
  std::optional<int> nics_per_node = {};
  std::optional<Nic> nic = {};
  std::optional<Link> gpu_link = {};
  std::optional<Link> pcie = {};
  Duration switch_latency = {};
  std::optional<Value> ports = {};
};
Fields switched_fields(NodeFields& nodes);
Fields direct_fields(NodeFields& nodes);
Nodes switched_nodes(Object& fields, const NodeFields& given, const NodeCount& room = {});
Nodes direct_nodes(Object& fields, const NodeFields& given, const NodeCount& room);

// The network between first switches: a rule over node numbers and the cost of each of its
// classes, without the nodes' own links.
struct Fabric {
  PairRule rule;
  std::vector<PairCost> costs;
};
// The cards of the nodes, which their GPUs share.
SharedWays card_ways(const Nodes& nodes);
// What every worker's own link costs, if single workers differ; the classes then leave it out.
std::vector<Port> own_ports(const Nodes& nodes);
Network switched_network(const Nodes& nodes, const Fabric& fabric);

// Adds a switched node to the graph, at `first_switch` (-1: it stands alone).
void add_switched_node(Graph& graph, const Nodes& nodes, int node, int first_switch);
// Adds all nodes of a direct shape; node i becomes vertex i.
void add_direct_nodes(Graph& graph, const Nodes& nodes);
// How many connections that makes, for all nodes.
int64_t node_connections(const Nodes& nodes);

// `hops` traversals of one link, passing `switches`.
PairCost traversals(const Link& link, int64_t hops, int64_t switches, Duration switch_latency);

// The fields that the parts of a shape share.
Field switch_latency_field(Duration& latency);
int add_switch(Graph& graph, const std::string& name, Duration delay,
               VertexKind kind = VertexKind::network_switch);

}  // namespace sgdsim
