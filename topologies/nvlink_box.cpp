// Boxes of GPUs behind NVLink or PCIe switches, joined by one non-blocking switch. A box alone
// needs no `nic`, and has no switch outside.
#include "topologies/nodes.h"
#include "topologies/registry.h"

namespace sgdsim {

Wiring nvlink_box(Object& fields) {
  Nodes nodes = read_switched_nodes(fields, {}, Boxes::always);
  const Fabric fabric{NestedGroups{}, {traversals({}, 0, 1, nodes.switch_latency)}};
  return {.network = switched_network(nodes, fabric),
          .nodes = nodes.count,
          .gpus_per_node = nodes.gpus,
          .connections = node_connections(nodes),
          .graph = [nodes = std::move(nodes)] {
            Graph graph;
            const int outside = nodes.nic ? add_switch(graph, "switch", nodes.switch_latency) : -1;
            for (int node = 0; node < nodes.count; ++node)
              add_switched_node(graph, nodes, node, outside);
            return graph;
          }};
}

}  // namespace sgdsim
