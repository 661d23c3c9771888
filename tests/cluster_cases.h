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

// Every GPU has a port of its own at one switch.
inline Cluster one_switch(int64_t gpus, const std::string& bandwidth = "100 Gbps",
                          const std::string& latency = "2 us") {
  return cluster_from(R"({"schema": "sgdsim/cluster/1", "name": "flat", "shape": "single_switch",
      "nodes": )" + std::to_string(gpus) +
                      R"(, "nic": {"latency": ")" + latency + R"(", "bandwidth": ")" + bandwidth +
                      R"("}})")
      .cluster;
}

// Boxes of four GPUs with so many network cards each.
inline Cluster boxes_of_four(int boxes, int cards) {
  return cluster_from(R"({"schema": "sgdsim/cluster/1", "name": "boxes", "shape": "nvlink_box",
      "nodes": )" + std::to_string(boxes) +
                      R"(, "gpus_per_node": 4, "nics_per_node": )" + std::to_string(cards) +
                      R"(, "gpu_link": {"latency": "1 us", "bandwidth": "800 GBps"},
      "nic": {"latency": "2 us", "bandwidth": "100 Gbps"}})")
      .cluster;
}

}  // namespace sgdsim
