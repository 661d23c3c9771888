// The number of hops decides the class of a pair; see GridHops in sim/net/network.h.
#include "topologies/grid.h"

#include <cassert>

#include "topologies/pair_classes.h"

namespace sgdsim {
namespace {

struct Grid {
  Nodes nodes;
  std::vector<int> dimensions;
  bool wraps = true;
  Link link;
};

int most_hops(const Grid& grid) {
  int hops = 0;
  for (const int size : grid.dimensions) hops += grid.wraps ? size / 2 : size - 1;
  return hops;
}

// A plain node is passed as a switch when it lies between; a boxed one is a router at both ends
// too.
PairCost cost_of(const Grid& grid, int hops) {
  const Nodes& nodes = grid.nodes;
  if (!nodes.boxed)
    return traversals(grid.link, hops, hops > 0 ? hops - 1 : 0, nodes.switch_latency);
  const PairCost end = nodes.own_gpu_links.empty() ? nodes.gpu_link.cost() : PairCost{};
  const PairCost way = traversals(grid.link, hops, hops + 1, nodes.switch_latency);
  return in_series(in_series(end, way), end);
}

Network grid_network(const Grid& grid) {
  const int most = most_hops(grid);
  std::vector<PairCost> costs;
  // A pair of plain nodes is at least one hop apart.
  if (!grid.nodes.boxed && most <= 1)
    return nested_network(grid.nodes.count, {}, {cost_of(grid, most)});
  if (grid.nodes.boxed && most == 0)
    return nested_network(grid.nodes.workers(), {}, {cost_of(grid, 0)});
  costs.reserve(static_cast<std::size_t>(most) + 1);
  for (int hops = 0; hops <= most; ++hops) costs.push_back(cost_of(grid, hops));
  return {grid.nodes.workers(), GridHops{grid.dimensions, grid.wraps, grid.nodes.gpus},
          std::move(costs)};
}

int64_t grid_connections(const Grid& grid) {
  int64_t links = 0;
  for (const int size : grid.dimensions) {
    const int in_row = size == 1 ? 0 : (grid.wraps && size > 2) ? size : size - 1;
    links += int64_t{grid.nodes.count} / size * in_row;
  }
  return links;
}

Graph build(const Grid& grid) {
  Graph graph;
  add_direct_nodes(graph, grid.nodes);
  int stride = 1;
  for (const int size : grid.dimensions) {
    for (int node = 0; node < grid.nodes.count; ++node) {
      const int place = node / stride % size;
      const bool is_last = place == size - 1;
      if (size == 1 || (is_last && !(grid.wraps && size > 2))) continue;
      const int next = is_last ? node - place * stride : node + stride;
      graph.connect({.from = node, .to = next, .link_class = "link", .link = grid.link});
    }
    stride *= size;
  }
  return graph;
}

}  // namespace

Fields fields_of(GridFields& o) {
  return direct_fields(o.nodes) +
         Fields{
             Field("link", o.link,
                   "link between direct neighbours: two GPUs, or two nodes if a node has several")
                 .needed()};
}

Wiring wire_grid(const Nodes& nodes, const Link& link, const std::vector<int>& dimensions,
                 bool wraps) {
  Grid grid{nodes, dimensions, wraps, link};
  std::vector<int> worker_grid = dimensions;
  if (nodes.gpus > 1) worker_grid.insert(worker_grid.begin(), nodes.gpus);
  const int64_t at_nodes = nodes.boxed ? nodes.workers() : 0;
  Network network = grid_network(grid);
  network.set_ports(own_ports(nodes));
  return {.network = std::move(network),
          .nodes = nodes.count,
          .gpus_per_node = nodes.gpus,
          .grid = std::move(worker_grid),
          .connections = at_nodes + grid_connections(grid),
          .graph = [grid = std::move(grid)] { return build(grid); }};
}

}  // namespace sgdsim
