// Clusters of tests, from what would stand in their files.
#pragma once

#include <string>

#include "topologies/cluster_file.h"

namespace sgdsim {

inline ClusterFile cluster_from(const std::string& text) {
  return read_cluster(Document::parse(text, "cluster.json").root());
}

inline Cluster cluster_of(const Json& json) {
  return read_cluster(Value(json, "test", "")).cluster;
}

}  // namespace sgdsim
