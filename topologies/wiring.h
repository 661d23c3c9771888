// What a shape makes of the fields of a cluster file: the costs of all pairs by a formula, and the
// graph, which is built only when someone asks for it.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "sim/core/json.h"
#include "sim/net/network.h"
#include "topologies/graph.h"

namespace sgdsim {

struct Wiring {
  Network network;
  int nodes = 1;
  int gpus_per_node = 1;
  int64_t nodes_per_leaf = 0;         // at each first switch, or in a pod of rails; 0: no leaves
  std::vector<int> grid = {};         // see Cluster::grid
  int64_t connections = 0;            // in the graph, known without building it
  std::function<Graph()> graph = {};  // keeps what it needs by value
};

inline constexpr int most_workers = 1 << 24;
inline constexpr int most_table_points = 4096;  // a table of 4096 x 4096 pairs takes 64 MiB

}  // namespace sgdsim
