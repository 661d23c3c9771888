// Some workers of a cluster, as a cluster.
#pragma once

#include <cstddef>
#include <vector>

#include "sim/core/json.h"
#include "sim/net/cluster.h"

namespace sgdsim {

// On how many nodes these places are.
std::size_t nodes_of(const std::vector<int>& places, int per_node);
// How many of them each of their nodes has, one node after another; 0 where they differ.
int places_per_node(const std::vector<int>& places, int per_node);
// The network as the workers at these places see it.
Network network_at(const Network& all, const std::vector<int>& places);
// `where`: who asks. InputError for too many workers.
Cluster part_of(const Cluster& all, const std::vector<int>& places, const Value& where);

}  // namespace sgdsim
