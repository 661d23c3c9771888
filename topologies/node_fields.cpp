// Reading the fields that describe nodes, and the ports in which single nodes differ.
#include <array>

#include "topologies/nodes.h"

namespace sgdsim {
namespace {

constexpr int most_gpus_per_node = 65536;

int read_count(Object& fields, const NodeCount& room) {
  const auto value = fields.find("nodes");
  if (!value) {
    if (room.rule == NodeCount::Rule::free) fields.at("nodes");
    return static_cast<int>(room.nodes);
  }
  const int count = static_cast<int>(value->whole(1, most_workers));
  const bool fits =
      room.rule == NodeCount::Rule::exactly ? count == room.nodes : count <= room.nodes;
  if (!fits) value->fail(room.reason + ", got " + std::to_string(count));
  return count;
}

void read_counts(Object& fields, const NodeCount& room, Nodes& nodes) {
  nodes.count = read_count(fields, room);
  if (const auto gpus = fields.find("gpus_per_node"))
    nodes.gpus = static_cast<int>(gpus->whole(1, most_gpus_per_node));
  if (int64_t{nodes.count} * nodes.gpus > most_workers)
    fields.value().fail(std::to_string(nodes.count) + " nodes of " + std::to_string(nodes.gpus) +
                        " GPUs are more than " + std::to_string(most_workers) + " workers");
  nodes.switch_latency = read_switch_latency(fields);
}

// The required link `name`, or an error that it is missing.
Link read_required(Object& fields, const std::string& name) { return read_link(fields.at(name)); }

struct PortEntry {
  Value value;
  bool by_worker = false;
  int number = 0;
  LinkFields link;
};

// Calls f for every entry of "ports".
template <class F>
void for_each_port(Object& fields, const Nodes& nodes, const F& f) {
  const auto ports = fields.find("ports");
  if (!ports) return;
  ports->for_each_item([&](const Value& value) {
    Object entry(value);
    const auto worker = entry.find("worker");
    const auto node = entry.find("node");
    const LinkFields link = read_link_fields(entry);
    check_one_efficiency(entry, link);
    entry.done();
    if (worker.has_value() == node.has_value())
      value.fail("expected either \"worker\" or \"node\", to say whose port this is");
    const int64_t number =
        worker ? worker->whole(0, nodes.workers() - 1) : node->whole(0, nodes.count - 1);
    f(PortEntry{value, worker.has_value(), static_cast<int>(number), link});
  });
}

void set_own(OwnLinks& own, const PortEntry& entry, const Link& usual) {
  if (!own.add(entry.number, changed(usual, entry.link)))
    entry.value.fail(std::string(entry.by_worker ? "worker " : "node ") +
                     std::to_string(entry.number) + " has a port already");
}

void set_switched_port(const PortEntry& entry, Nodes& nodes) {
  if (entry.by_worker && nodes.boxed) {
    if (nodes.pcie)
      entry.value.fail("a worker with \"pcie\" has two links; give the port of its node");
    set_own(nodes.own_gpu_links, entry, nodes.gpu_link);
    return;
  }
  if (!nodes.nic) entry.value.fail("a cluster of one node without \"nic\" has no node ports");
  if (nodes.boxed && nodes.count > most_table_points)
    entry.value.fail(
        "ports of nodes with several GPUs need a table of all pairs of nodes: at most " +
        std::to_string(most_table_points) + " nodes, got " + std::to_string(nodes.count));
  set_own(nodes.own_nics, entry, *nodes.nic);
}

}  // namespace

int read_whole(Object& fields, const std::string& name, int least, int most) {
  return static_cast<int>(fields.at(name).whole(least, most));
}

Duration read_switch_latency(Object& fields) {
  const auto latency = fields.find("switch_latency");
  return latency ? read_latency(*latency) : Duration();
}

Nodes read_switched_nodes(Object& fields, const NodeCount& room, Boxes boxes) {
  Nodes nodes;
  read_counts(fields, room, nodes);
  nodes.boxed = boxes == Boxes::always || nodes.gpus > 1;
  // The links of a box are read, and so checked, even if there is but one GPU per node: a sweep
  // over gpus_per_node may start at 1.
  const auto nics = fields.find("nics_per_node");
  const auto gpu_link = fields.find("gpu_link");
  const auto pcie = fields.find("pcie");
  const auto nic = fields.find("nic");
  if (nics) nodes.nics = static_cast<int>(nics->whole(1, nodes.gpus));
  if (gpu_link) nodes.gpu_link = read_link(*gpu_link);
  if (!gpu_link && nodes.boxed) read_required(fields, "gpu_link");
  if (pcie) nodes.pcie = read_link(*pcie);
  if (nic) nodes.nic = read_nic(*nic, nodes.over_senders);
  if (!nic && (!nodes.boxed || nodes.count > 1)) read_required(fields, "nic");
  if (!nodes.boxed) nodes.pcie.reset();
  for_each_port(fields, nodes, [&](const PortEntry& entry) { set_switched_port(entry, nodes); });
  return nodes;
}

Nodes read_direct_nodes(Object& fields, const NodeCount& room) {
  Nodes nodes;
  read_counts(fields, room, nodes);
  nodes.boxed = nodes.gpus > 1;
  const auto gpu_link = fields.find("gpu_link");
  if (gpu_link) nodes.gpu_link = read_link(*gpu_link);
  if (!gpu_link && nodes.boxed) read_required(fields, "gpu_link");
  for_each_port(fields, nodes, [&](const PortEntry& entry) {
    if (!nodes.boxed)
      entry.value.fail("this shape joins workers directly; a port needs gpus_per_node above 1");
    if (!entry.by_worker)
      entry.value.fail("this shape joins nodes directly; only a worker has a port");
    set_own(nodes.own_gpu_links, entry, nodes.gpu_link);
  });
  return nodes;
}

}  // namespace sgdsim
