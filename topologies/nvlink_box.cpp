// Boxes of GPUs behind NVLink or PCIe switches, joined by one non-blocking switch. A box alone
// needs no `nic`, and has no switch outside.
#include "topologies/nodes.h"
#include "topologies/registry.h"

namespace sgdsim {
namespace {

struct NvlinkBox {
  NodeFields nodes{.boxes = Boxes::always};
};

Fields fields_of(NvlinkBox& o) { return switched_fields(o.nodes); }

Wiring wire_nvlink_box(Object& fields) {
  Nodes nodes = switched_nodes(fields, read_record<NvlinkBox>(fields).nodes);
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

}  // namespace

Shape nvlink_box() {
  return {"nvlink_box", "boxes of GPUs behind NVLink or PCIe switches, at one switch",
          options_of<NvlinkBox>, wire_nvlink_box};
}

}  // namespace sgdsim
