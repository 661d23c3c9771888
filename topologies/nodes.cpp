// The costs and the graph of nodes; node_fields.cpp reads them. Both describe the same picture (see
// the header), and a test compares them pair by pair for every shape.
#include "topologies/nodes.h"

#include <cassert>

#include "topologies/pair_classes.h"

namespace sgdsim {
namespace {

PairCost between_ends(const PairCost& from, const PairCost& middle, const PairCost& to) {
  return in_series(in_series(from, middle), to);
}

// Every node a point, because the two ends of a pair may have NICs of different kinds.
Network network_by_node(const Nodes& nodes, const Fabric& fabric, const PairCost& gpu_end) {
  const Network core(nodes.count, fabric.rule, fabric.costs);
  const PairCost inside = in_series(gpu_end, gpu_end);
  auto end_of = [&](int node) {
    return in_series(nodes.pcie ? nodes.pcie->cost() : gpu_end, nodes.nic_of(node).cost());
  };
  return table_network(nodes.count, nodes.gpus, [&](int from, int to) {
    if (from == to) return inside;
    return between_ends(end_of(from), core.between(from, to), end_of(to));
  });
}

Network boxed_network(const Nodes& nodes, const Fabric& fabric, const PairCost& gpu_end) {
  const auto* groups = std::get_if<NestedGroups>(&fabric.rule);
  if (groups == nullptr || !nodes.own_nics.empty()) return network_by_node(nodes, fabric, gpu_end);
  const PairCost inside = in_series(gpu_end, gpu_end);
  if (!nodes.nic) return nested_network(nodes.workers(), {}, {inside});
  const PairCost end = in_series(nodes.pcie ? nodes.pcie->cost() : gpu_end, nodes.nic->cost());
  std::vector<int64_t> sizes{nodes.gpus};
  std::vector<PairCost> costs{inside};
  for (const int size : groups->group_sizes) sizes.push_back(int64_t{size} * nodes.gpus);
  for (const PairCost& core : fabric.costs) costs.push_back(between_ends(end, core, end));
  return nested_network(nodes.workers(), sizes, costs);
}

Network plain_network(const Nodes& nodes, const Fabric& fabric) {
  // With ports of their own, the workers' links are no part of the class.
  const PairCost end = nodes.own_nics.empty() ? nodes.nic->cost() : PairCost{};
  std::vector<PairCost> costs;
  for (const PairCost& core : fabric.costs) costs.push_back(between_ends(end, core, end));
  if (const auto* groups = std::get_if<NestedGroups>(&fabric.rule)) {
    const std::vector<int64_t> sizes(groups->group_sizes.begin(), groups->group_sizes.end());
    return nested_network(nodes.count, sizes, costs);
  }
  const Network all(nodes.count, fabric.rule, costs);
  const auto& table = std::get<PairTable>(fabric.rule);
  return table_network(table.points, table.per_point, [&](int from, int to) {
    return costs[all.class_of(from * table.per_point, to * table.per_point)];
  });
}

}  // namespace

bool OwnLinks::add(int number, const Link& link) {
  const auto at = static_cast<std::size_t>(number);
  if (at >= places_.size()) places_.resize(at + 1, -1);
  if (places_[at] >= 0) return false;
  places_[at] = static_cast<int>(links_.size());
  links_.push_back(link);
  return true;
}

const Link* OwnLinks::find(int number) const {
  const auto at = static_cast<std::size_t>(number);
  return at < places_.size() && places_[at] >= 0 ? &links_[static_cast<std::size_t>(places_[at])]
                                                 : nullptr;
}

const Link& Nodes::nic_of(int node) const {
  const Link* own = own_nics.find(node);
  return own == nullptr ? *nic : *own;
}

const Link& Nodes::gpu_link_of(int worker) const {
  const Link* own = own_gpu_links.find(worker);
  return own == nullptr ? gpu_link : *own;
}

std::vector<Port> own_ports(const Nodes& nodes) {
  std::vector<Port> ports;
  if (nodes.own_gpu_links.empty() && (nodes.boxed || nodes.own_nics.empty())) return ports;
  ports.reserve(static_cast<std::size_t>(nodes.workers()));
  for (int worker = 0; worker < nodes.workers(); ++worker) {
    const PairCost cost = (nodes.boxed ? nodes.gpu_link_of(worker) : nodes.nic_of(worker)).cost();
    ports.push_back({cost, cost});
  }
  return ports;
}

SharedWays card_ways(const Nodes& nodes) {
  SharedWays shared{nodes.gpus, nodes.nics, {}};
  if (!nodes.nic) return {};
  if (nodes.own_nics.empty() || nodes.gpus <= nodes.nics) {  // the latter are not shared
    shared.rates = {nodes.nic->cost().per_byte};
    return shared;
  }
  for (int node = 0; node < nodes.count; ++node)
    shared.rates.push_back(nodes.nic_of(node).cost().per_byte);
  return shared;
}

Network switched_network(const Nodes& nodes, const Fabric& fabric) {
  const PairCost gpu_end =
      nodes.own_gpu_links.empty() && nodes.boxed ? nodes.gpu_link.cost() : PairCost{};
  Network network =
      nodes.boxed ? boxed_network(nodes, fabric, gpu_end) : plain_network(nodes, fabric);
  network.set_ports(own_ports(nodes));
  network.set_shared_ways({card_ways(nodes)});
  network.set_crowding({nodes.gpus, nodes.over_senders});
  return network;
}

PairCost traversals(const Link& link, int64_t hops, int64_t switches, Duration switch_latency) {
  const PairCost once = hops > 0 ? link.cost() : PairCost{};
  return {once.latency * hops + switch_latency * switches, once.per_byte, once.reduce,
          once.rendezvous};
}

int add_switch(Graph& graph, const std::string& name, Duration delay, VertexKind kind) {
  return graph.add({.name = name, .kind = kind, .delay = delay});
}

void add_switched_node(Graph& graph, const Nodes& nodes, int node, int first_switch) {
  const std::string name = "node" + std::to_string(node);
  auto add_gpu = [&](const std::string& gpu_name, int worker) {
    return graph.add(
        {.name = gpu_name, .kind = VertexKind::gpu, .worker = worker, .forwards = false});
  };
  auto connect = [&](int from, int to, const char* link_class, const Link& link, bool avoid) {
    graph.connect({.from = from, .to = to, .link_class = link_class, .link = link, .avoid = avoid});
  };
  if (!nodes.boxed) {
    const int gpu = add_gpu(name, node);
    if (first_switch >= 0) connect(gpu, first_switch, "nic", nodes.nic_of(node), true);
    return;
  }
  // With one switch and no `pcie`, the backplane is that switch.
  const bool one_switch = !nodes.pcie && nodes.nics == 1;
  const int backplane = add_switch(graph, name + "/switch", {},
                                   nodes.pcie ? VertexKind::nvswitch : VertexKind::network_switch);
  std::vector<int> ways_out;
  for (int nic = 0; nic < nodes.nics; ++nic) {
    const std::string nic_name = name + "/nic" + std::to_string(nic);
    const int way_out = one_switch ? backplane : add_switch(graph, nic_name, {}, VertexKind::nic);
    if (!one_switch && !nodes.pcie) connect(way_out, backplane, "backplane", {}, false);
    if (first_switch >= 0) connect(way_out, first_switch, "nic", nodes.nic_of(node), true);
    ways_out.push_back(way_out);
  }
  for (int gpu = 0; gpu < nodes.gpus; ++gpu) {
    const int worker = node * nodes.gpus + gpu;
    const int vertex = add_gpu(name + "/gpu" + std::to_string(gpu), worker);
    const int way_out = ways_out[static_cast<std::size_t>(gpu * nodes.nics / nodes.gpus)];
    const Link& link = nodes.gpu_link_of(worker);
    connect(vertex, nodes.pcie ? backplane : way_out, "gpu_link", link, false);
    if (nodes.pcie) connect(vertex, way_out, "pcie", *nodes.pcie, true);
  }
}

void add_direct_nodes(Graph& graph, const Nodes& nodes) {
  for (int node = 0; node < nodes.count; ++node) {
    const std::string name = "node" + std::to_string(node);
    if (nodes.boxed) {
      add_switch(graph, name, nodes.switch_latency, VertexKind::router);
    } else {
      graph.add(
          {.name = name, .kind = VertexKind::gpu, .worker = node, .delay = nodes.switch_latency});
    }
  }
  if (!nodes.boxed) return;
  for (int worker = 0; worker < nodes.workers(); ++worker) {
    const int node = worker / nodes.gpus;
    const std::string name = graph.vertices()[static_cast<std::size_t>(node)].name + "/gpu" +
                             std::to_string(worker % nodes.gpus);
    const int gpu =
        graph.add({.name = name, .kind = VertexKind::gpu, .worker = worker, .forwards = false});
    graph.connect(
        {.from = gpu, .to = node, .link_class = "gpu_link", .link = nodes.gpu_link_of(worker)});
  }
}

int64_t node_connections(const Nodes& nodes) {
  const int64_t to_network = nodes.nic ? nodes.nics : 0;
  if (!nodes.boxed) return nodes.count * to_network;
  const bool one_switch = !nodes.pcie && nodes.nics == 1;
  const int64_t inside = nodes.pcie ? 2 * nodes.gpus : nodes.gpus + (one_switch ? 0 : nodes.nics);
  return nodes.count * (inside + to_network);
}

}  // namespace sgdsim
