// Nodes in a row, each linked to the next: the pipeline of the LP collectives.
#include "topologies/grid.h"
#include "topologies/registry.h"

namespace sgdsim {

Wiring chain(Object& fields) {
  const std::string reason = "a chain has at most " + std::to_string(longest_dimension) + " nodes";
  Nodes nodes = read_direct_nodes(fields, {NodeCount::Rule::free, longest_dimension, reason});
  Wiring wiring = wire_grid(fields, nodes, {nodes.count}, false);
  wiring.grid.clear();  // collectives for grids want two dimensions or more
  return wiring;
}

}  // namespace sgdsim
