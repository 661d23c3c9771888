// Every shape twice: the formula against the routes on the graph, pair by pair, and against sums
// done by hand; then the numbers that the literature gives for the graphs.
#include <doctest/doctest.h>
#include <set>

#include "tests/cluster_cases.h"
#include "topologies/cluster_file.h"
#include "topologies/registry.h"

namespace sgdsim {
namespace {

// Links whose latencies and rates all differ, so that a link taken for another shows.
const std::string links =
    R"("nic": {"latency": "1 us", "bandwidth": "100 Gbps", "reduce": "3 ps/B"},
       "gpu_link": {"latency": "10 ns", "bandwidth": "300 GBps", "efficiency": 0.75},
       "switch_latency": "0.3 us")";
const std::string pcie =
    R"(, "pcie": {"latency": "2 ns", "bandwidth": "32 GBps", "reduce": "5 ps/B"})";
const std::string uplink = R"(, "uplink": {"latency": "2 us", "per_byte": "95 ps/B"})";
const std::string direct =
    R"("link": {"latency": "0.7 us", "bandwidth": "25 GBps", "reduce": "1 ps/B"},
       "gpu_link": {"latency": "20 ns", "bandwidth": "200 GBps", "reduce": "2 ps/B"},
       "switch_latency": "50 ns")";
const std::string fly = links +
                        R"(, "local": {"latency": "0.5 us", "bandwidth": "200 Gbps"},
                             "global": {"latency": "0.4 us", "bandwidth": "50 Gbps"})";

std::string shape(const std::string& name, const std::string& sizes, const std::string& rest) {
  return "{\"shape\": \"" + name + "\", " + sizes + ", " + rest + "}";
}

struct Instance {
  std::string reason;
  std::string text;
};

void add_box_variants(std::vector<Instance>& all, const std::string& name, const std::string& sizes,
                      const std::string& rest) {
  const std::vector<std::pair<std::string, std::string>> boxes = {
      {"", ""},
      {R"(, "gpus_per_node": 2)", ""},
      {R"(, "gpus_per_node": 3, "nics_per_node": 2)", ""},
      {R"(, "gpus_per_node": 4, "nics_per_node": 2)", pcie},
      {R"(, "gpus_per_node": 2)", R"(, "ports": [{"node": 0, "bandwidth": "10 Gbps"},
                                                 {"worker": 1, "latency": "1 ns"}])"},
      {"", R"(, "ports": [{"node": 1, "latency": "9 us"},
                          {"worker": 0, "bandwidth": "400 Gbps", "reduce": "7 ps/B"}])"},
      {R"(, "gpus_per_node": 2, "nics_per_node": 2)",
       pcie + R"(, "ports": [{"node": 1, "bandwidth": "10 Gbps"}])"}};
  for (const auto& [counts, more] : boxes)
    all.push_back({name + " " + sizes + counts + more, shape(name, sizes + counts, rest + more)});
}

std::vector<Instance> instances() {
  std::vector<Instance> all;
  for (const std::string nodes : {"2", "3", "5"}) {
    const std::string sizes = "\"nodes\": " + nodes;
    add_box_variants(all, "single_switch", sizes, links);
    add_box_variants(all, "nvlink_box", sizes, links);
    add_box_variants(all, "leaf_spine", sizes + R"(, "nodes_per_leaf": 2, "spines": 2)",
                     links + uplink);
    add_box_variants(all, "fat_tree", sizes + R"(, "k": 4)", links + uplink);
  }
  add_box_variants(all, "leaf_spine", R"("nodes": 4, "nodes_per_leaf": 4, "spines": 1)",
                   links + uplink);
  add_box_variants(all, "leaf_spine", R"("nodes": 4, "nodes_per_leaf": 1, "spines": 3)",
                   links + uplink);
  add_box_variants(all, "fat_tree", R"("k": 4)", links + uplink);
  add_box_variants(all, "fat_tree", R"("k": 2)", links + uplink);
  for (const std::string nodes : {"1", "2", "5"})
    for (const std::string gpus : {"1", "2", "3"}) {
      const std::string sizes = "\"nodes\": " + nodes + ", \"gpus_per_node\": " + gpus;
      const std::string pods = sizes + R"(, "nodes_per_pod": 2, "spines": 2)";
      for (const std::string pxn : {"true", "false"})
        all.push_back({"rails " + pods + pxn,
                       shape("rails", pods + ", \"pxn\": " + pxn, links + pcie + uplink)});
      all.push_back({"rails only " + sizes, shape("rails", sizes, links + pcie)});
    }
  for (const std::string sizes :
       {R"("groups": 2, "routers_per_group": 1, "nodes_per_router": 1, "global_links": 3)",
        R"("groups": 3, "routers_per_group": 2, "nodes_per_router": 1, "global_links": 1)",
        R"("groups": 3, "routers_per_group": 3, "nodes_per_router": 2, "global_links": 2)",
        R"("groups": 5, "routers_per_group": 4, "nodes_per_router": 1, "global_links": 2)",
        R"("groups": 4, "routers_per_group": 5, "nodes_per_router": 1, "global_links": 2)",
        R"("groups": 9, "routers_per_group": 4, "nodes_per_router": 2, "global_links": 2)"})
    add_box_variants(all, "dragonfly", sizes, fly);
  const std::vector<std::pair<std::string, std::vector<std::string>>> grids = {
      {"chain", {R"("nodes": 1)", R"("nodes": 2)", R"("nodes": 7)"}},
      {"ring", {R"("nodes": 1)", R"("nodes": 2)", R"("nodes": 3)", R"("nodes": 8)"}},
      {"fully_connected", {R"("nodes": 1)", R"("nodes": 2)", R"("nodes": 6)"}},
      {"torus",
       {R"("dimensions": [2, 2])", R"("dimensions": [3, 4])", R"("dimensions": [5, 2])",
        R"("dimensions": [3, 2, 4])"}}};
  for (const auto& [name, sizes_list] : grids)
    for (const std::string& sizes : sizes_list)
      for (const std::string more :
           {"", R"(, "gpus_per_node": 3)",
            R"(, "gpus_per_node": 2, "ports": [{"worker": 1, "bandwidth": "1 Gbps"}])"})
        all.push_back({name + " " + sizes + more, shape(name, sizes + more, direct)});
  all.push_back({"one box", shape("nvlink_box", R"("nodes": 1, "gpus_per_node": 5)",
                                  R"("gpu_link": {"latency": "1 us", "bandwidth": "1 GBps"})")});
  return all;
}

TEST_CASE("topologies: the formula of a shape is the route on its graph, for every pair") {
  std::set<std::string> seen;
  for (const Instance& instance : instances()) {
    INFO(instance.reason);
    const ClusterFile file = cluster_from(instance.text);
    const Graph graph = file.graph();
    const Network& network = file.cluster.network;
    seen.insert(file.shape);
    REQUIRE(graph.workers() == network.workers());
    CHECK(static_cast<int64_t>(graph.connections().size()) == file.connections);
    std::set<uint32_t> classes;
    for (int to = 0; to < graph.workers(); ++to) {
      const auto costs = graph.costs_to(to);
      for (int from = 0; from < graph.workers(); ++from) {
        if (from == to) continue;
        INFO("from " << from << " to " << to);
        REQUIRE(costs[static_cast<std::size_t>(from)].has_value());
        const PairCost route = costs[static_cast<std::size_t>(from)].value_or(PairCost{});
        const PairCost formula = network.between(from, to);
        REQUIRE(formula.latency.ps() == route.latency.ps());
        REQUIRE(formula.per_byte.ps() == route.per_byte.ps());
        REQUIRE(formula.reduce.ps() == route.reduce.ps());
        classes.insert(network.class_of(from, to));
      }
    }
    // No class is without pairs, but class 0 of a grid of plain nodes.
    const bool is_plain_grid =
        !file.cluster.grid.empty() || file.shape == "chain" || file.shape == "ring";
    const bool may_lack_first = is_plain_grid && file.cluster.workers_per_node == 1;
    if (graph.workers() > 1 && !(may_lack_first && network.classes().size() > 1))
      CHECK(classes.size() == network.classes().size());
  }
  CHECK(seen.size() + 1 == shapes().size());  // all but explicit, which has no formula
}

// ---- sums by hand

struct Pair {
  std::string reason;
  std::string text;
  int from;
  int to;
  int64_t latency_ps;
  double per_byte_ps;
  double reduce_ps;
};

const std::string rail_sizes = R"("nodes": 4, "gpus_per_node": 2, "nodes_per_pod": 2, "spines": 2)";

const std::vector<Pair> pairs = {
    {"across one switch: 1 + 0.3 + 1 us, 100 Gbps", shape("single_switch", R"("nodes": 4)", links),
     0, 3, 2'300'000, 80, 3},
    {"inside a box: two links of 10 ns at 225 GBps",
     shape("nvlink_box", R"("nodes": 2, "gpus_per_node": 4)", links), 4, 7, 20'000, 1e3 / 225, 0},
    {"box to box: 0.01 + 1 + 0.3 + 1 + 0.01 us",
     shape("nvlink_box", R"("nodes": 2, "gpus_per_node": 4)", links), 3, 4, 2'320'000, 80, 3},
    {"box to box over PCIe: 0.002 + 1 + 0.3 + 1 + 0.002 us",
     shape("nvlink_box", R"("nodes": 2, "gpus_per_node": 4)", links + pcie), 0, 7, 2'304'000, 80,
     5},
    {"under one leaf",
     shape("leaf_spine", R"("nodes": 8, "nodes_per_leaf": 4, "spines": 2)", links + uplink), 0, 3,
     2'300'000, 80, 3},
    {"over a spine: 1 + 0.3 + 2 + 0.3 + 2 + 0.3 + 1 us",
     shape("leaf_spine", R"("nodes": 8, "nodes_per_leaf": 4, "spines": 2)", links + uplink), 0, 4,
     6'900'000, 95, 3},
    {"oversubscribed 4:1, 8 nodes of 100 Gbps share 2 uplinks: 100 Gbps each",
     shape("leaf_spine", R"("nodes": 16, "nodes_per_leaf": 8, "spines": 2, "oversubscription": 4)",
           links + R"(, "uplink": {"latency": "1 us"})"),
     0, 8, 4'900'000, 80, 3},
    {"oversubscribed 16:1, the same uplinks have 25 Gbps each",
     shape("leaf_spine", R"("nodes": 16, "nodes_per_leaf": 8, "spines": 2, "oversubscription": 16)",
           links + R"(, "uplink": {"latency": "1 us"})"),
     0, 8, 4'900'000, 320, 3},
    {"fat tree, one edge switch", shape("fat_tree", R"("k": 4)", links + uplink), 0, 1, 2'300'000,
     80, 3},
    {"fat tree, one pod: two uplinks, three switches",
     shape("fat_tree", R"("k": 4)", links + uplink), 0, 3, 6'900'000, 95, 3},
    {"fat tree, two pods: four uplinks, five switches",
     shape("fat_tree", R"("k": 4)", links + uplink), 0, 15, 11'500'000, 95, 3},
    {"rails, inside a node", shape("rails", rail_sizes, links + pcie + uplink), 0, 1, 20'000,
     1e3 / 225, 0},
    {"rails, one rail of a pod: 0.002 + 1 + 0.3 + 1 + 0.002 us",
     shape("rails", rail_sizes, links + pcie + uplink), 0, 2, 2'304'000, 80, 5},
    {"rails, another rail: 2 x 0.01 us of NVLink more",
     shape("rails", rail_sizes, links + pcie + uplink), 0, 3, 2'324'000, 80, 5},
    {"rails, another rail over a spine: two uplinks and two switches more",
     shape("rails", rail_sizes + R"(, "pxn": false)", links + pcie + uplink), 0, 3, 6'904'000, 95,
     5},
    {"rails, one rail of two pods", shape("rails", rail_sizes, links + pcie + uplink), 0, 4,
     6'904'000, 95, 5},
    {"rails, another rail of another pod: NVLink and a spine",
     shape("rails", rail_sizes, links + pcie + uplink), 0, 5, 6'924'000, 95, 5},
    {"rails, the same without NVLink",
     shape("rails", rail_sizes + R"(, "pxn": false)", links + pcie + uplink), 0, 5, 6'904'000, 95,
     5},
    {"rails, 4:1: the uplinks of 2 cards of 100 Gbps are 2, of 25 Gbps each",
     shape("rails", rail_sizes + R"(, "oversubscription": 4)",
           links + pcie + R"(, "uplink": {"latency": "2 us"})"),
     0, 4, 6'904'000, 320, 5},
    {"chain, three hops over two workers: 2.1 + 0.1 us", shape("chain", R"("nodes": 4)", direct), 0,
     3, 2'200'000, 40, 1},
    {"ring, one hop backwards", shape("ring", R"("nodes": 4)", direct), 0, 3, 700'000, 40, 1},
    {"ring of boxes, one hop: 0.04 + 0.7 + 2 routers of 0.05 us",
     shape("ring", R"("nodes": 4, "gpus_per_node": 2)", direct), 0, 7, 840'000, 40, 2},
    {"fully connected", shape("fully_connected", R"("nodes": 9)", direct), 2, 8, 700'000, 40, 1},
    {"torus 4x4x4, corner to the middle: 2 + 2 + 2 hops over 5 workers",
     shape("torus", R"("dimensions": [4, 4, 4])", direct), 0, 42, 4'450'000, 40, 1},
    {"torus 4x4x4, first to last: one hop back in each dimension",
     shape("torus", R"("dimensions": [4, 4, 4])", direct), 0, 63, 2'200'000, 40, 1},
    {"dragonfly, one router",
     shape("dragonfly", R"("groups": 9, "routers_per_group": 4, "nodes_per_router": 2,
                           "global_links": 2)",
           fly),
     0, 1, 2'300'000, 80, 3},
    {"dragonfly, one group: a local hop, two routers",
     shape("dragonfly", R"("groups": 9, "routers_per_group": 4, "nodes_per_router": 2,
                           "global_links": 2)",
           fly),
     0, 7, 3'100'000, 80, 3},
    {"dragonfly, router 0 of group 0 has ports 0 and 1, to groups 1 and 2; port 0 of group 1 leads "
     "back: no local hop, 2 + 0.4 + 2 x 0.3 us",
     shape("dragonfly", R"("groups": 9, "routers_per_group": 4, "nodes_per_router": 2,
                           "global_links": 2)",
           fly),
     0, 8, 3'000'000, 160, 3},
    {"dragonfly, group 0 to group 8 leaves by port 7, router 3, and arrives at port 0, router 0: a "
     "local hop at each end from router 0 to router 3",
     shape("dragonfly", R"("groups": 9, "routers_per_group": 4, "nodes_per_router": 2,
                           "global_links": 2)",
           fly),
     0, 71, 4'600'000, 160, 3},
};

TEST_CASE("topologies: what a pair pays, summed by hand") {
  for (const Pair& row : pairs) {
    INFO(row.reason);
    const PairCost cost = cluster_from(row.text).cluster.network.between(row.from, row.to);
    CHECK(cost.latency.ps() == row.latency_ps);
    // 1e12 / rate rounds once, division by the efficiency once more
    CHECK(cost.per_byte.ps() == doctest::Approx(row.per_byte_ps).epsilon(1e-15));
    CHECK(cost.reduce.ps() == row.reduce_ps);
  }
}

// ---- numbers of the literature

TEST_CASE("topologies: a k-ary fat tree has 5k^2/4 switches, k^3/4 hosts and 3k^3/4 links") {
  for (const int k : {2, 4, 6, 8, 10}) {
    INFO("k = " << k);
    const ClusterFile file =
        cluster_from(shape("fat_tree", "\"k\": " + std::to_string(k), links + uplink));
    const Graph graph = file.graph();
    const int hosts = k * k * k / 4;
    CHECK(graph.workers() == hosts);
    CHECK(static_cast<int>(graph.vertices().size()) - hosts == 5 * k * k / 4);
    CHECK(static_cast<int>(graph.connections().size()) == 3 * hosts);
    std::vector<int> ports(graph.vertices().size());
    for (const Connection& connection : graph.connections()) {
      ++ports[static_cast<std::size_t>(connection.from)];
      ++ports[static_cast<std::size_t>(connection.to)];
    }
    for (std::size_t i = 0; i < ports.size(); ++i)
      CHECK(ports[i] == (graph.vertices()[i].kind == VertexKind::gpu ? 1 : k));
  }
}

// How many shortest routes there are, by counting next hops.
int64_t routes_from(const RoutesTo& routes, int vertex) {
  if (vertex == routes.destination) return 1;
  int64_t count = 0;
  for (const int next : routes.next_hops[static_cast<std::size_t>(vertex)])
    count += routes_from(routes, next);
  return count;
}

TEST_CASE("topologies: equal-cost routes") {
  struct Row {
    std::string reason;
    std::string text;
    int from;
    int to;
    int64_t routes;
  };
  const std::vector<Row> rows = {
      {"fat tree k=4, one edge switch", shape("fat_tree", R"("k": 4)", links + uplink), 0, 1, 1},
      {"k=4, one pod: k/2", shape("fat_tree", R"("k": 4)", links + uplink), 0, 2, 2},
      {"k=4, two pods: (k/2)^2", shape("fat_tree", R"("k": 4)", links + uplink), 0, 4, 4},
      {"k=8, two pods: (k/2)^2", shape("fat_tree", R"("k": 8)", links + uplink), 0, 127, 16},
      {"one per spine",
       shape("leaf_spine", R"("nodes": 4, "nodes_per_leaf": 2, "spines": 5)", links + uplink), 0, 3,
       5},
      {"rails, one way in a pod, whatever the rail",
       shape("rails", rail_sizes, links + pcie + uplink), 0, 3, 1},
      {"one per spine between pods", shape("rails", rail_sizes, links + pcie + uplink), 0, 5, 2},
      {"and between rails without PXN",
       shape("rails", rail_sizes + R"(, "pxn": false)", links + pcie + uplink), 0, 3, 2},
      {"a torus corner to corner, 1 + 1 hops: 2 orders",
       shape("torus", R"("dimensions": [5, 5])", direct), 0, 6, 2},
      {"2 + 1 hops: 3 orders", shape("torus", R"("dimensions": [5, 5])", direct), 0, 7, 3},
      {"half way round a ring of 6: both ways", shape("ring", R"("nodes": 6)", direct), 0, 3, 2},
      {"one NIC per pair of GPUs",
       shape("nvlink_box", R"("nodes": 2, "gpus_per_node": 4, "nics_per_node": 2)", links), 0, 7,
       1},
  };
  for (const Row& row : rows) {
    INFO(row.reason);
    const Graph graph = cluster_from(row.text).graph();
    CHECK(routes_from(graph.routes_to(row.to), graph.vertex_of(row.from)) == row.routes);
  }
}

TEST_CASE("topologies: links over the middle, in one direction each") {
  struct Row {
    std::string reason;
    std::string text;
    int first_half;  // workers below this number are one half
    int links;
  };
  // Counted between vertices that are, or whose nearest worker is, in different halves; so for
  // shapes in which every vertex is a worker.
  const std::vector<Row> rows = {
      {"chain", shape("chain", R"("nodes": 8)", direct), 4, 1},
      {"ring", shape("ring", R"("nodes": 8)", direct), 4, 2},
      {"torus 4x4: two per row", shape("torus", R"("dimensions": [4, 4])", direct), 8, 8},
      {"torus 4x4x4: two per line", shape("torus", R"("dimensions": [4, 4, 4])", direct), 32, 32},
      {"fully connected: n^2/4", shape("fully_connected", R"("nodes": 8)", direct), 4, 16},
  };
  for (const Row& row : rows) {
    INFO(row.reason);
    int over = 0;
    const Graph graph = cluster_from(row.text).graph();
    for (const Connection& connection : graph.connections())
      over += (connection.from < row.first_half) != (connection.to < row.first_half) ? 1 : 0;
    CHECK(over == row.links);
  }
}

TEST_CASE("topologies: GPU g of a box sends by NIC g * nics / gpus") {
  const std::string sizes = R"("nodes": 2, "gpus_per_node": 6, "nics_per_node": 4)";
  for (const std::string& rest : {links, links + pcie}) {
    const Graph graph = cluster_from(shape("nvlink_box", sizes, rest)).graph();
    for (int gpu = 0; gpu < 6; ++gpu) {
      const std::vector<int> route = graph.route(gpu, 11);
      REQUIRE(route.size() == 5);  // GPU, NIC, switch, NIC, GPU
      CHECK(graph.vertices()[static_cast<std::size_t>(route[1])].name ==
            "node0/nic" + std::to_string(gpu * 4 / 6));
      CHECK(graph.vertices()[static_cast<std::size_t>(route[3])].name == "node1/nic3");
    }
  }
}

TEST_CASE("topologies: large clusters are formulas") {
  struct Row {
    std::string text;
    int workers;
    std::size_t classes;
  };
  const std::vector<Row> rows = {
      {shape("single_switch", R"("nodes": 1048576)", links), 1048576, 1},
      {shape("single_switch", R"("nodes": 131072, "gpus_per_node": 8)", links), 1048576, 2},
      {shape("fat_tree", R"("k": 48)", links + uplink), 27648, 3},
      {shape("fat_tree", R"("k": 406)", links + uplink), 16730854, 3},
      {shape("rails", R"("nodes": 131072, "gpus_per_node": 8)", links + pcie), 1048576, 3},
      {shape("torus", R"("dimensions": [128, 128, 64])", direct), 1048576, 161},
      {shape("fully_connected", R"("nodes": 1000000)", direct), 1000000, 1},
  };
  for (const Row& row : rows) {
    const ClusterFile file = cluster_from(row.text);
    CHECK(file.cluster.network.workers() == row.workers);
    CHECK(file.cluster.network.classes().size() == row.classes);
  }
}

}  // namespace
}  // namespace sgdsim
