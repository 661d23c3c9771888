// Reading a cluster: a file of schema sgdsim/cluster/1, or the same object inside an experiment.
//
// What comes out is the cluster as the engines see it, and a way to build its graph. The fields are
// described in docs/cluster-format.md and by `sgdsim schema cluster`. The reader checks everything;
// what it does not know is whether the figures are true, which is what `source` is for.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

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

Json schema_of_clusters();
ClusterFile read_cluster(const Value& value);
// As files write it; empty: they do not say.
std::string_view name_of(NetworkKind kind);
// What is assumed where a file does not say what sends its messages, and it matters because a
// start-up is long; empty: nothing. `setting`: how a command says it, as "--set network=tcp".
std::string assumed_network(const Cluster& cluster, const std::string& setting);
ClusterFile read_cluster_file(const std::string& file);

}  // namespace sgdsim
