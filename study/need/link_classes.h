// The kinds of links that a cluster file describes, and the same cluster with all links of a kind
// slower, or with one of a node's or leaf's gone.
//
// In steps whose parts wait for each other the slowest link decides: in closed form one link of a
// kind at half of its rate costs what all of them cost.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sim/core/json.h"
#include "study/traffic/traffic_file.h"
#include "topologies/cluster_file.h"

namespace sgdsim {

struct LinkClass {
  std::string name;  // of the field: "nic"
  std::string says;  // "network card (nic)"
};
std::vector<LinkClass> link_classes(const Json& cluster);

// With this part of the rate of every link of the kind.
Json with_slower(const Json& cluster, const std::string& name, double part);

// What is left carries the bytes of what is gone. Nothing where the file does not say how many
// there are, or where there is one.
struct OneGone {
  std::string says;  // "one of 8 network cards of a node (nic)"
  Json cluster;
};
std::optional<OneGone> with_one_gone(const Json& cluster, const std::string& name);

// One link of the kind, where none of them is the only way of some messages.
struct SpareLink {
  std::string says;            // "one link between nodes (link)"
  std::vector<uint32_t> ways;  // both of its directions, as the cluster's wires number them
};
std::optional<SpareLink> spare_link(const ClusterFile& cluster, const LinkClass& kind);
// The same wires without it, from the beginning on.
void close_link(TrafficFile& traffic, const SpareLink& link);

}  // namespace sgdsim
