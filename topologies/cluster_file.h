// Reading a cluster: a file of schema sgdsim/cluster/1, or the same object inside an experiment.
//
// What comes out is the cluster as the engines see it, and a way to build its graph. The fields are
// described in docs/cluster-format.md and app/schemas/cluster.json. The reader checks everything;
// what it does not know is whether the figures are true, which is what `source` is for.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "sim/core/json.h"
#include "sim/net/cluster.h"
#include "topologies/graph.h"

namespace sgdsim {

inline constexpr char cluster_schema[] = "sgdsim/cluster/1";

struct ClusterFile {
  Cluster cluster;
  std::string shape;
  std::string description;
  std::string source;  // where the figures come from
  int nodes = 1;
  int64_t connections = 0;  // in the graph

  // Vertices and links, built anew by each call; an InputError beyond four million links.
  Graph graph() const;

  std::function<Graph()> build;  // what graph() calls
  std::string where;             // what an error names
};

ClusterFile read_cluster(const Value& value);
ClusterFile read_cluster_file(const std::string& file);

}  // namespace sgdsim
