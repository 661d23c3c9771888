// Nodes in a circle, each linked to the next; a message takes the shorter way round.
#include "topologies/grid.h"
#include "topologies/registry.h"

namespace sgdsim {
namespace {

Wiring wire_ring(Object& fields) {
  const std::string reason = "a ring has at most " + std::to_string(longest_dimension) + " nodes";
  const auto given = read_record<GridFields>(fields);
  const Nodes nodes =
      direct_nodes(fields, given.nodes, {NodeCount::Rule::free, longest_dimension, reason});
  Wiring wiring = wire_grid(nodes, given.link, {nodes.count}, true);
  wiring.grid.clear();  // collectives for grids want two dimensions or more
  return wiring;
}

}  // namespace

Shape ring() {
  return {"ring", "nodes in a circle, each linked to the next", options_of<GridFields>, wire_ring};
}

}  // namespace sgdsim
