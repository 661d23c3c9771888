// Reading the fields that describe nodes, and the ports in which single nodes differ.
#include <array>

#include "topologies/nodes.h"

namespace sgdsim {
namespace {

constexpr int most_gpus_per_node = 65536;

int count_of(Object& fields, const NodeFields& given, const NodeCount& room) {
  if (!given.nodes) return static_cast<int>(room.nodes);
  const int count = *given.nodes;
  const bool fits =
      room.rule == NodeCount::Rule::exactly ? count == room.nodes : count <= room.nodes;
  if (!fits) fields.at("nodes").fail(room.reason + ", got " + std::to_string(count));
  return count;
}

Nodes counted(Object& fields, const NodeFields& given, const NodeCount& room) {
  Nodes nodes;
  nodes.count = count_of(fields, given, room);
  nodes.gpus = given.gpus_per_node;
  if (int64_t{nodes.count} * nodes.gpus > most_workers)
    fields.value().fail(std::to_string(nodes.count) + " nodes of " + std::to_string(nodes.gpus) +
                        " GPUs are more than " + std::to_string(most_workers) + " workers");
  nodes.switch_latency = given.switch_latency;
  nodes.boxed = given.boxes == Boxes::always || nodes.gpus > 1;
  nodes.gpu_link = given.gpu_link.value_or(Link());
  if (!given.gpu_link && nodes.boxed) fields.at("gpu_link");
  return nodes;
}

Field nodes_field(NodeFields& o) {
  Field nodes = Field("nodes", o.nodes, "number of nodes").from(1, most_workers);
  if (o.rule == NodeCount::Rule::free) return std::move(nodes).needed();
  return std::move(nodes).otherwise("as many as the other sizes have room for");
}

Field gpus_field(NodeFields& o) {
  return Field("gpus_per_node", o.gpus_per_node,
               "GPUs of each node; every GPU is a worker, and consecutive workers share a node")
      .from(1, most_gpus_per_node);
}

Field gpu_link_field(NodeFields& o) {
  Field link = Field("gpu_link", o.gpu_link,
                     "link from a GPU to the switch inside its node, NVLink or PCIe; two GPUs of a "
                     "node are two such links apart");
  return o.boxes == Boxes::always ? std::move(link).needed() : std::move(link);
}

// Whose port, and what differs.
struct PortOwner {
  std::optional<int> worker;
  std::optional<int> node;
};

Fields fields_of(PortOwner& o) {
  return Fields{Field("worker", o.worker,
                      "worker whose gpu_link differs, or whose network card if a node is one GPU")
                    .from(0, most_workers - 1),
                Field("node", o.node, "node whose network cards differ").from(0, most_workers - 1)}
      .exactly_one({"worker", "node"},
                   "expected either \"worker\" or \"node\", to say whose port this is");
}

Json schema_of_ports() {
  PortOwner owner;
  Json port = record_schema(fields_of(owner));
  const Json link = port_properties();
  port["properties"].update(link["properties"]);
  for (const Json& rule : link["allOf"]) port["allOf"].push_back(rule);
  return list_schema(std::move(port));
}

Field ports_field(NodeFields& o) {
  return Field("ports", o.ports, "nodes or workers whose own link differs from the others'")
      .like(schema_of_ports);
}

Json several_gpus() {
  return {{"properties", {{"gpus_per_node", {{"minimum", 2}}}}},
          {"required", Json::array({"gpus_per_node"})}};
}

// Only a single node of several GPUs has no card; only where nodes have several is `gpu_link` used.
Json schema_of_alone() {
  Json one = several_gpus();
  one["properties"]["nodes"] = {{"const", 1}};
  one["required"].push_back("nodes");
  return {{"anyOf", {{{"required", Json::array({"nic"})}}, std::move(one)}}};
}
Json schema_of_boxes_alone() {
  const Json one = {{"properties", {{"nodes", {{"const", 1}}}}},
                    {"required", Json::array({"nodes"})}};
  return {{"anyOf", {{{"required", Json::array({"nic"})}}, one}}};
}
Json schema_of_boxes() {
  return {{"if", several_gpus()}, {"then", {{"required", Json::array({"gpu_link"})}}}};
}

struct PortEntry {
  Value value;
  bool by_worker = false;
  int number = 0;
  LinkFields link;
};

// Calls f for every entry of "ports".
template <class F>
void for_each_port(const std::optional<Value>& ports, const Nodes& nodes, const F& f) {
  if (!ports) return;
  PortOwner owner;
  const Fields described = fields_of(owner);
  ports->for_each_item([&](const Value& value) {
    Object entry(value);
    owner = {};
    read_fields(entry, described);
    const LinkFields link = read_link_fields(entry);
    check_one_efficiency(entry, link);
    entry.done();
    const int64_t number = owner.worker ? entry.at("worker").whole(0, nodes.workers() - 1)
                                        : entry.at("node").whole(0, nodes.count - 1);
    f(PortEntry{value, owner.worker.has_value(), static_cast<int>(number), link});
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

Field switch_latency_field(Duration& latency) {
  return Field("switch_latency", latency,
               "time to pass one network switch or router, or one worker that forwards; switches "
               "inside a node take none")
      .also([](const Value& value) { read_latency(value); });
}

Fields switched_fields(NodeFields& o) {
  Field nic("nic", o.nic, "link from a node, by one network card, to its first switch");
  const bool may_be_alone = o.rule == NodeCount::Rule::free;
  Fields fields = {
      nodes_field(o),
      gpus_field(o),
      Field("nics_per_node", o.nics_per_node,
            "network cards of each node, at most one per GPU; GPU g uses card g * nics_per_node / "
            "gpus_per_node, rounded down")
          .from(1, most_gpus_per_node)
          .otherwise("1"),
      may_be_alone ? std::move(nic) : std::move(nic).needed(),
      gpu_link_field(o),
      {"pcie", o.pcie, "link from a GPU to its network card, where that is not gpu_link"},
      switch_latency_field(o.switch_latency),
      ports_field(o)};
  if (o.boxes == Boxes::always) return std::move(fields).also(schema_of_boxes_alone);
  fields = std::move(fields).also(schema_of_boxes);
  return may_be_alone ? std::move(fields).also(schema_of_alone) : std::move(fields);
}

Fields direct_fields(NodeFields& o) {
  return Fields{nodes_field(o), gpus_field(o), gpu_link_field(o),
                switch_latency_field(o.switch_latency), ports_field(o)}
      .also(schema_of_boxes);
}

Nodes switched_nodes(Object& fields, const NodeFields& given, const NodeCount& room) {
  // The links of a box are read, and so checked, even if there is but one GPU per node: a sweep
  // over gpus_per_node may start at 1.
  Nodes nodes = counted(fields, given, room);
  if (given.nics_per_node) {
    nodes.nics = *given.nics_per_node;
    fields.at("nics_per_node").whole(1, nodes.gpus);
  }
  if (given.nic) {
    nodes.nic = given.nic->link;
    nodes.over_senders = given.nic->over_senders;
  }
  if (!given.nic && (!nodes.boxed || nodes.count > 1)) fields.at("nic");
  if (nodes.boxed) nodes.pcie = given.pcie;
  for_each_port(given.ports, nodes,
                [&](const PortEntry& entry) { set_switched_port(entry, nodes); });
  return nodes;
}

Nodes direct_nodes(Object& fields, const NodeFields& given, const NodeCount& room) {
  Nodes nodes = counted(fields, given, room);
  for_each_port(given.ports, nodes, [&](const PortEntry& entry) {
    if (!nodes.boxed)
      entry.value.fail("this shape joins workers directly; a port needs gpus_per_node above 1");
    if (!entry.by_worker)
      entry.value.fail("this shape joins nodes directly; only a worker has a port");
    set_own(nodes.own_gpu_links, entry, nodes.gpu_link);
  });
  return nodes;
}

}  // namespace sgdsim
