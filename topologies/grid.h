// What chain, ring and torus share: nodes on a grid, each linked to its neighbours by `link`.
//
// A message pays one traversal per hop of the shortest way. In a dimension of two nodes that closes
// to a ring, both ways are the same single link.
#pragma once

#include "topologies/nodes.h"

namespace sgdsim {

// Reads `link`; `dimensions` first fastest, product = nodes.count.
// Nodes in a row or a grid, and the link between neighbours.
struct GridFields {
  NodeFields nodes = {};
  Link link = {};
};
Fields fields_of(GridFields& grid);

Wiring wire_grid(const Nodes& nodes, const Link& link, const std::vector<int>& dimensions,
                 bool wraps);

inline constexpr int longest_dimension = 1 << 20;  // one class of pairs per number of hops

}  // namespace sgdsim
