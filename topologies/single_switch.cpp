// All nodes at one non-blocking switch: a message pays two traversals of `nic`.
//
//   node 0   node 1   ...   node n-1
//       \       |             /
//        ------ switch -------
#include "topologies/nodes.h"
#include "topologies/registry.h"

namespace sgdsim {
namespace {

struct SingleSwitch {
  NodeFields nodes;
};

Fields fields_of(SingleSwitch& o) { return switched_fields(o.nodes); }

Wiring wire_single_switch(Object& fields) {
  Nodes nodes = switched_nodes(fields, read_record<SingleSwitch>(fields).nodes);
  const Fabric fabric{NestedGroups{}, {traversals({}, 0, 1, nodes.switch_latency)}};
  return {.network = switched_network(nodes, fabric),
          .nodes = nodes.count,
          .gpus_per_node = nodes.gpus,
          .connections = node_connections(nodes),
          .graph = [nodes = std::move(nodes)] {
            Graph graph;
            const int middle = add_switch(graph, "switch", nodes.switch_latency);
            for (int node = 0; node < nodes.count; ++node)
              add_switched_node(graph, nodes, node, nodes.nic ? middle : -1);
            return graph;
          }};
}

}  // namespace

Shape single_switch() {
  return {"single_switch", "all nodes at one non-blocking switch", options_of<SingleSwitch>,
          wire_single_switch};
}

}  // namespace sgdsim
