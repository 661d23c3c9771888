// Some workers of a cluster, as a cluster.
#pragma once

#include <cstddef>
#include <vector>

#include "sim/core/json.h"
#include "sim/net/cluster.h"

namespace sgdsim {

// On how many nodes these places are.
std::size_t nodes_of(const std::vector<int>& places, int per_node);
// `where`: who asks. InputError for too many workers.
Cluster part_of(const Cluster& all, const std::vector<int>& places, const Value& where);

}  // namespace sgdsim
