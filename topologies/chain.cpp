// Nodes in a row, each linked to the next: the pipeline of the LP collectives.
#include "topologies/grid.h"
#include "topologies/registry.h"

namespace sgdsim {
namespace {

Wiring wire_chain(Object& fields) {
  const std::string reason = "a chain has at most " + std::to_string(longest_dimension) + " nodes";
  const auto given = read_record<GridFields>(fields);
  const Nodes nodes =
      direct_nodes(fields, given.nodes, {NodeCount::Rule::free, longest_dimension, reason});
  Wiring wiring = wire_grid(nodes, given.link, {nodes.count}, false);
  wiring.grid.clear();  // collectives for grids want two dimensions or more
  return wiring;
}

}  // namespace

Shape chain() {
  return {"chain", "nodes in a row, each linked to the next", options_of<GridFields>, wire_chain};
}

}  // namespace sgdsim
