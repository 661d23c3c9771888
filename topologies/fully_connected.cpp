// A link between every two nodes: any pair of nodes is one hop apart.
#include "topologies/grid.h"
#include "topologies/nodes.h"
#include "topologies/pair_classes.h"
#include "topologies/registry.h"

namespace sgdsim {
namespace {

Network mesh_network(const Nodes& nodes, const Link& link) {
  if (!nodes.boxed) return nested_network(nodes.count, {}, {link.cost()});
  const PairCost end = nodes.own_gpu_links.empty() ? nodes.gpu_link.cost() : PairCost{};
  auto apart = [&](int hops) {
    const PairCost way = traversals(link, hops, hops + 1, nodes.switch_latency);
    return in_series(in_series(end, way), end);
  };
  return nested_network(nodes.workers(), {nodes.gpus}, {apart(0), apart(1)});
}

Wiring wire_fully_connected(Object& fields) {
  const auto given = read_record<GridFields>(fields);
  const Nodes nodes = direct_nodes(fields, given.nodes, {});
  const Link link = given.link;
  const int64_t at_nodes = nodes.boxed ? nodes.workers() : 0;
  Network network = mesh_network(nodes, link);
  network.set_ports(own_ports(nodes));
  return {.network = std::move(network),
          .nodes = nodes.count,
          .gpus_per_node = nodes.gpus,
          .connections = at_nodes + int64_t{nodes.count} * (nodes.count - 1) / 2,
          .graph = [nodes, link] {
            Graph graph;
            add_direct_nodes(graph, nodes);
            for (int from = 0; from < nodes.count; ++from)
              for (int to = from + 1; to < nodes.count; ++to)
                graph.connect({.from = from, .to = to, .link_class = "link", .link = link});
            return graph;
          }};
}

}  // namespace

Shape fully_connected() {
  return {"fully_connected", "a link between every two nodes", options_of<GridFields>,
          wire_fully_connected};
}

}  // namespace sgdsim
