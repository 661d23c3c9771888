// Routes that are looked for from both ends are those of a search of the whole graph.
#include "topologies/route_search.h"

#include <algorithm>
#include <doctest/doctest.h>
#include <string>
#include <vector>

#include "sim/core/random.h"
#include "tests/cluster_cases.h"
#include "topologies/graph.h"

namespace sgdsim {
namespace {

// The ways of all shortest routes from a vertex, of those to a goal.
Ways ways_from(const Graph& graph, int from, int goal, const Ways& to_goal) {
  Ways ways(to_goal.size());
  std::vector<bool> is_seen(graph.vertices().size());
  std::vector<int> next{from};
  while (!next.empty()) {
    const int vertex = next.back();
    next.pop_back();
    if (vertex == goal || is_seen[static_cast<std::size_t>(vertex)]) continue;
    is_seen[static_cast<std::size_t>(vertex)] = true;
    for (std::size_t c = 0; c < graph.connections().size(); ++c)
      for (const bool is_back : {false, true}) {
        const Connection& one = graph.connections()[c];
        const uint32_t way = way_number(static_cast<int>(c), is_back);
        if ((is_back ? one.to : one.from) != vertex || !to_goal[way]) continue;
        ways[way] = true;
        next.push_back(is_back ? one.from : one.to);
      }
  }
  return ways;
}

Ways bits_of(const FewOrBits& some) {
  Ways bits(some.limit());
  for (std::size_t number = 0; number < bits.size(); ++number) bits[number] = some.contains(number);
  return bits;
}

// Every pair, each by itself.
void check_pairs(const Graph& graph, const Ways& closed) {
  RouteSearch search(graph);
  const auto vertices = static_cast<int>(graph.vertices().size());
  for (int goal = 0; goal < vertices; ++goal) {
    const Ways all = graph.ways_to(goal, closed);
    WaysTo together{FewOrBits(all.size()), FewOrBits(graph.vertices().size())};
    together.known.insert(static_cast<std::size_t>(goal));
    for (int from = 0; from < vertices; ++from) {
      if (from == goal) continue;
      WaysTo alone{FewOrBits(all.size()), FewOrBits(graph.vertices().size())};
      alone.known.insert(static_cast<std::size_t>(goal));
      search.add(from, goal, closed, alone);
      INFO("from ", from, " to ", goal);
      CHECK(bits_of(alone.ways) == ways_from(graph, from, goal, all));
      if (!together.known.contains(static_cast<std::size_t>(from)))
        search.add(from, goal, closed, together);
    }
    CHECK(bits_of(together.ways) == all);
  }
}

// Some of them at one vertex, as at a switch of many. With few latencies, so that many routes are
// as long as others.
Graph random_graph(Random& random) {
  Graph graph;
  const auto vertices = static_cast<int>(2 + random.below(12));
  for (int v = 0; v < vertices; ++v)
    graph.add({.name = std::to_string(v),
               .delay = Duration::ns(static_cast<int64_t>(random.below(2))),
               .forwards = random.below(4) > 0});
  const bool has_switch = random.below(2) == 0;
  const auto connections = static_cast<int>(random.below(has_switch ? 60 : 30));
  for (int c = 0; c < connections; ++c) {
    const bool is_at_switch = has_switch && random.below(3) > 0;
    const auto from =
        is_at_switch ? 0 : static_cast<int>(random.below(static_cast<uint64_t>(vertices)));
    const auto other = static_cast<int>(random.below(static_cast<uint64_t>(vertices - 1)));
    Connection one{.from = from, .to = other + (other >= from ? 1 : 0)};
    one.link.latency = Duration::ns(static_cast<int64_t>(random.below(3)));
    one.both_ways = random.below(4) > 0;
    one.avoid = random.below(4) == 0;
    graph.connect(one);
  }
  return graph;
}

std::string cluster_with(const std::string& fields) {
  return R"({"schema": "sgdsim/cluster/1", "name": "routes", )" + fields + "}";
}

}  // namespace

TEST_CASE("routes: looked for from both ends, of every shape") {
  const std::string link = R"({"latency": "1 us", "bandwidth": "10 Gbps"})";
  const std::string nic = R"(, "nic": )" + link;
  for (const std::string& fields :
       {R"("shape": "fat_tree", "k": 4, "uplink": )" + link + nic,
        R"("shape": "leaf_spine", "nodes": 6, "nodes_per_leaf": 2, "spines": 3, "uplink": )" +
            link + nic,
        R"("shape": "torus", "dimensions": [4, 5], "link": )" + link,
        R"("shape": "ring", "nodes": 7, "link": )" + link,
        R"("shape": "chain", "nodes": 4, "link": )" + link,
        R"("shape": "nvlink_box", "nodes": 3, "gpus_per_node": 4, "nics_per_node": 2, "pcie": )" +
            link + R"(, "gpu_link": )" + link + nic}) {
    const Graph graph = cluster_from(cluster_with(fields)).graph();
    INFO(fields);
    check_pairs(graph, Ways(2 * graph.connections().size()));
  }
}

TEST_CASE("routes: looked for from both ends, of 500 random graphs") {
  Random random(35);
  for (int i = 0; i < 500; ++i) {
    const Graph graph = random_graph(random);
    Ways closed(2 * graph.connections().size());
    for (std::size_t way = 0; way < closed.size(); ++way) closed[way] = random.below(8) == 0;
    INFO("graph ", i);
    check_pairs(graph, closed);
  }
}

TEST_CASE("few or bits: a set, however many it has") {
  constexpr std::size_t limit = 300;
  Random random(7);
  FewOrBits some(limit);
  std::vector<bool> all(limit);
  CHECK(some.is_few());
  for (int i = 0; i < 200; ++i) {
    const auto number = static_cast<std::size_t>(random.below(limit));
    some.insert(number);
    all[number] = true;
    for (std::size_t n = 0; n < limit; ++n) REQUIRE(some.contains(n) == all[n]);
    if (some.is_few())
      CHECK(some.few().size() ==
            static_cast<std::size_t>(std::count(all.begin(), all.end(), true)));
  }
  CHECK_FALSE(some.is_few());
}

}  // namespace sgdsim
