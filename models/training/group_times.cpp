// The slowest edges are found once per kind of group by looking at all of them.
#include "models/training/group_times.h"

#include <algorithm>

#include "sim/core/cast.h"

namespace sgdsim {
namespace {

// Where the band of a size starts: sizes of one band see one network.
double band_start(const Network& network, double size_B) {
  double start = 0;
  for (const SizeBand& band : network.bands())
    if (size_B >= band.from_B) start = band.from_B;
  return start;
}

}  // namespace

GroupTimes::Edges GroupTimes::find_edges(const RankGroup& group, const Network& network) const {
  const int64_t per_node = cluster_->workers_per_node;
  // All workers of a node send at once; more than a node's worth leaves no larger group.
  std::vector<int> loads;
  for (const SharedWays& shared : network.shared_ways()) {
    const int64_t senders = std::min<int64_t>(shared.group, per_node);
    loads.push_back(static_cast<int>((senders + shared.ways - 1) / shared.ways));
  }
  Edges edges;
  edges.per_node = group.size;
  auto add = [&](int64_t from, int64_t to) {
    const PairCost cost = network.between(static_cast<int>(from), static_cast<int>(to));
    const bool is_inside = from / per_node == to / per_node;
    const PerByte rate = is_inside ? cost.per_byte
                                   : network.through_ways(cost.per_byte, static_cast<int>(from),
                                                          static_cast<int>(to), loads);
    double& latency = is_inside ? edges.inside_latency_s : edges.across_latency_s;
    double& per_byte = is_inside ? edges.inside_s_per_B : edges.across_s_per_B;
    latency = std::max(latency, cost.latency.s());
    per_byte = std::max(per_byte, rate.ps() * 1e-12);
    (is_inside ? edges.has_inside : edges.crosses) = true;
  };
  int64_t run = 0;  // members so far in the node of the last one
  for (int64_t rank = 0; rank < gpus_; ++rank) {
    const int64_t member = rank / group.stride % group.size;
    if (member + 1 < group.size)
      add(rank, rank + group.stride);
    else
      add(rank, rank - (group.size - 1) * group.stride);
    if (member > 0) continue;
    // A group's members are looked at from its first one.
    run = 0;
    while (run < group.size && (rank + run * group.stride) / per_node == rank / per_node) ++run;
    edges.per_node = std::min(edges.per_node, run);
  }
  return edges;
}

const GroupTimes::Edges& GroupTimes::edges_of(const RankGroup& group, double message_B) {
  const Network& network = cluster_->network;
  const double start = network.has_bands() ? band_start(network, message_B) : 0;
  const auto key = std::pair(start, std::pair(group.stride, group.size));
  const auto found = known_.find(key);
  if (found != known_.end()) return found->second;
  return known_.emplace(key, find_edges(group, network.at_size(message_B))).first->second;
}

double GroupTimes::all_gather_s(const RankGroup& group, double whole_B) {
  if (group.size <= 1 || whole_B <= 0) return 0;
  const double steps = real(group.size - 1);
  const double part_B = whole_B / real(group.size);
  const Edges& edges = edges_of(group, part_B);
  const double latency = std::max(edges.inside_latency_s, edges.across_latency_s);
  const double per_byte =
      std::max(edges.inside_s_per_B, edges.across_s_per_B / real(edges.per_node));
  return cluster_->network.start().s() + steps * (latency + part_B * per_byte);
}

double GroupTimes::all_to_all_s(const RankGroup& group, double sent_B) {
  if (group.size <= 1 || sent_B <= 0) return 0;
  const double part_B = sent_B / real(group.size);
  const Edges& edges = edges_of(group, part_B);
  const double near = real(edges.crosses ? edges.per_node - 1 : group.size - 1);
  const double far = real(edges.crosses ? group.size - edges.per_node : 0);
  // NVLink and cards work at the same time.
  const double inside = near * (edges.inside_latency_s + part_B * edges.inside_s_per_B);
  const double across = far * (edges.across_latency_s + part_B * edges.across_s_per_B);
  return cluster_->network.start().s() + std::max(inside, across);
}

double GroupTimes::send_s(const RankGroup& group, double bytes) {
  if (group.size <= 1 || bytes <= 0) return 0;
  const Edges& edges = edges_of(group, bytes);
  return std::max(edges.has_inside ? edges.inside_latency_s + bytes * edges.inside_s_per_B : 0,
                  edges.crosses ? edges.across_latency_s + bytes * edges.across_s_per_B : 0);
}

}  // namespace sgdsim
