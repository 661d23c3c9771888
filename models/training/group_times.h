// What collectives of a group of ranks cost on a cluster, by the closed form of rings.
//
// A group is `size` ranks that lie `stride` apart; all groups of the kind work at once, and the
// slowest edge of any of them decides. Where several members of a group share a node, the ring
// leaves the node by the cards of all of them, as NCCL's channels do. This is wrong where other
// traffic crosses the same wires, and for groups so small in bytes that trees would be chosen.
#pragma once

#include <cstdint>
#include <map>
#include <utility>

#include "sim/net/cluster.h"

namespace sgdsim {

struct RankGroup {
  int64_t stride = 1;
  int64_t size = 1;
};

class GroupTimes {
 public:
  // The first `gpus` workers of the cluster, which must have as many.
  GroupTimes(const Cluster& cluster, int64_t gpus) : cluster_(&cluster), gpus_(gpus) {}

  // In seconds. `whole_B`: what every member has in the end, or had before a reduce-scatter.
  double all_gather_s(const RankGroup& group, double whole_B);
  double all_reduce_s(const RankGroup& group, double whole_B) {
    return 2 * all_gather_s(group, whole_B);
  }
  // `sent_B`: what every member has for all, itself included.
  double all_to_all_s(const RankGroup& group, double sent_B);
  // From each member to the next.
  double send_s(const RankGroup& group, double bytes);

 private:
  // The slowest edges of a kind of group, alone and as part of a ring.
  struct Edges {
    double inside_latency_s = 0;
    double inside_s_per_B = 0;
    double across_latency_s = 0;
    double across_s_per_B = 0;
    int64_t per_node = 1;  // members of a group in one node, where fewest
    bool crosses = false;
    bool has_inside = false;
  };
  const Edges& edges_of(const RankGroup& group, double message_B);
  Edges find_edges(const RankGroup& group, const Network& network) const;

  const Cluster* cluster_;
  int64_t gpus_;
  std::map<std::pair<double, std::pair<int64_t, int64_t>>, Edges> known_;  // by band of sizes
};

}  // namespace sgdsim
