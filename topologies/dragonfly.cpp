// The dragonfly (Kim, Dally, Scott and Abts, ISCA 2008): groups of routers, all-to-all inside a
// group by `local` links, and between groups by `global` links, of which every router has some.
//
// Global port p of a group (router p / global_links) leads to the groups in turn, itself left out:
// port p to the p-th other group, and again from the start while every other group can be served
// once more; what remains stays unused. A route crosses one global link, the one of the bundle that
// needs the fewest local hops at its ends. So pairs fall into five classes: same router, same
// group, and other groups with 0, 1 or 2 local hops. The table is kept per router: at most 4096.
#include <algorithm>

#include "topologies/nodes.h"
#include "topologies/pair_classes.h"
#include "topologies/registry.h"

namespace sgdsim {
namespace {

struct Groups {
  Nodes nodes;
  int groups = 1;
  int routers = 1;  // per group
  int nodes_per_router = 1;
  int global_links = 1;  // per router
  Link local;
  Link global;

  int all_routers() const { return groups * routers; }
  // Parallel global links between any two groups.
  int bundle() const { return routers * global_links / (groups - 1); }
  // The router at which link `copy` from `group` to `other` starts.
  int gate(int group, int other, int copy) const {
    const int place = (other < group ? other : other - 1) + copy * (groups - 1);
    return group * routers + place / global_links;
  }
};

// Whether a global link of router `from` leads to the group of `to`, and whether one of them ends
// at `to` itself. Only the copies that start at `from` are looked at.
struct Reach {
  bool group = false;
  bool router = false;
};

Reach reach_of(const Groups& shape, int from, int to) {
  const int group = from / shape.routers;
  const int other = to / shape.routers;
  const int turn = other < group ? other : other - 1;
  const int first_port = from % shape.routers * shape.global_links;
  int copy = std::max(0, (first_port - turn + shape.groups - 2) / (shape.groups - 1));
  Reach reach;
  for (; copy < shape.bundle() && shape.gate(group, other, copy) == from; ++copy) {
    reach.group = true;
    reach.router = reach.router || shape.gate(other, group, copy) == to;
  }
  return reach;
}

// 0 same router, 1 same group, 2 + local hops beyond.
uint32_t class_between(const Groups& shape, int from, int to) {
  if (from == to) return 0;
  if (from / shape.routers == to / shape.routers) return 1;
  const Reach ahead = reach_of(shape, from, to);
  if (ahead.router) return 2;
  return ahead.group || reach_of(shape, to, from).group ? 3 : 4;
}

Fabric fabric_of(const Groups& shape) {
  const int points = shape.all_routers();
  PairTable table{shape.nodes_per_router, points, {}};
  table.classes.reserve(static_cast<std::size_t>(points) * static_cast<std::size_t>(points));
  for (int from = 0; from < points; ++from)
    for (int to = 0; to < points; ++to) table.classes.push_back(class_between(shape, from, to));
  const Duration delay = shape.nodes.switch_latency;
  Fabric fabric{std::move(table),
                {traversals({}, 0, 1, delay), traversals(shape.local, 1, 2, delay)}};
  for (int local_hops = 0; local_hops <= 2; ++local_hops)
    fabric.costs.push_back(in_series(traversals(shape.global, 1, 2, delay),
                                     traversals(shape.local, local_hops, local_hops, delay)));
  return fabric;
}

Graph build(const Groups& shape) {
  Graph graph;
  for (int router = 0; router < shape.all_routers(); ++router)
    add_switch(graph,
               "group" + std::to_string(router / shape.routers) + "/router" +
                   std::to_string(router % shape.routers),
               shape.nodes.switch_latency, VertexKind::router);
  for (int from = 0; from < shape.all_routers(); ++from)
    for (int to = from + 1; to < (from / shape.routers + 1) * shape.routers; ++to)
      graph.connect({.from = from, .to = to, .link_class = "local", .link = shape.local});
  for (int group = 0; group < shape.groups; ++group)
    for (int other = group + 1; other < shape.groups; ++other)
      for (int copy = 0; copy < shape.bundle(); ++copy)
        graph.connect({.from = shape.gate(group, other, copy),
                       .to = shape.gate(other, group, copy),
                       .link_class = "global",
                       .link = shape.global,
                       .avoid = true});
  for (int node = 0; node < shape.nodes.count; ++node)
    add_switched_node(graph, shape.nodes, node, node / shape.nodes_per_router);
  return graph;
}

int64_t connections_of(const Groups& shape) {
  const int64_t local = int64_t{shape.all_routers()} * (shape.routers - 1) / 2;
  const int64_t global = int64_t{shape.groups} * (shape.groups - 1) / 2 * shape.bundle();
  return node_connections(shape.nodes) + local + global;
}

struct Dragonfly {
  int groups = 2;
  int routers_per_group = 1;
  int nodes_per_router = 1;
  int global_links = 1;
  NodeFields nodes{.rule = NodeCount::Rule::exactly};
  Link local;
  Link global;
};

Fields fields_of(Dragonfly& o) {
  return Fields{Field("groups", o.groups, "groups of routers").needed().from(2, most_table_points),
                Field("routers_per_group", o.routers_per_group,
                      "routers of each group, linked all-to-all; at most 4096 in all")
                    .needed()
                    .from(1, most_table_points),
                Field("nodes_per_router", o.nodes_per_router, "nodes at each router")
                    .needed()
                    .from(1, 4096),
                Field("global_links", o.global_links,
                      "links from each router to other groups; all routers of a group together "
                      "need at least one per other group")
                    .needed()
                    .from(1, 64)} +
         switched_fields(o.nodes) +
         Fields{Field("local", o.local, "link between two routers of a group").needed(),
                Field("global", o.global, "link between two groups").needed()};
}

void check_sizes(Object& fields, const Groups& shape) {
  if (int64_t{shape.groups} * shape.routers > most_table_points)
    fields.value().fail("expected at most " + std::to_string(most_table_points) + " routers, got " +
                        std::to_string(shape.groups) + " groups of " +
                        std::to_string(shape.routers));
  if (shape.bundle() == 0)
    fields.at("global_links")
        .fail("a group of " + std::to_string(shape.routers) + " routers with " +
              std::to_string(shape.global_links) + " global links each reaches " +
              std::to_string(shape.routers * shape.global_links) + " of the " +
              std::to_string(shape.groups - 1) + " other groups");
}

Wiring wire_dragonfly(Object& fields) {
  const auto given = read_record<Dragonfly>(fields);
  Groups shape;
  shape.groups = given.groups;
  shape.routers = given.routers_per_group;
  shape.nodes_per_router = given.nodes_per_router;
  shape.global_links = given.global_links;
  check_sizes(fields, shape);
  const int64_t room = int64_t{shape.all_routers()} * shape.nodes_per_router;
  const std::string reason = "this dragonfly has " + std::to_string(room) + " nodes";
  shape.nodes = switched_nodes(fields, given.nodes, {NodeCount::Rule::exactly, room, reason});
  if (shape.nodes.boxed && shape.nodes.count > most_table_points)
    fields.value().fail("a dragonfly with several GPUs per node has at most " +
                        std::to_string(most_table_points) + " nodes, got " +
                        std::to_string(shape.nodes.count));
  shape.local = given.local;
  shape.global = given.global;
  return {.network = switched_network(shape.nodes, fabric_of(shape)),
          .nodes = shape.nodes.count,
          .gpus_per_node = shape.nodes.gpus,
          .nodes_per_leaf = shape.nodes_per_router,
          .connections = connections_of(shape),
          .graph = [shape] { return build(shape); }};
}

}  // namespace

Shape dragonfly() {
  return {"dragonfly", "groups of routers, linked all-to-all inside and between groups",
          options_of<Dragonfly>, wire_dragonfly};
}

}  // namespace sgdsim
