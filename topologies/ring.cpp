// Nodes in a circle, each linked to the next; a message takes the shorter way round.
#include "topologies/grid.h"
#include "topologies/registry.h"

namespace sgdsim {

Wiring ring(Object& fields) {
  const std::string reason = "a ring has at most " + std::to_string(longest_dimension) + " nodes";
  Nodes nodes = read_direct_nodes(fields, {NodeCount::Rule::free, longest_dimension, reason});
  Wiring wiring = wire_grid(fields, nodes, {nodes.count}, true);
  wiring.grid.clear();  // collectives for grids want two dimensions or more
  return wiring;
}

}  // namespace sgdsim
