// Exchanges of all with all: a member sends a part to each other one. NVLink and cards work at the
// same time, and what leaves a node or a rack shares its cards or uplinks with all that leaves it,
// not with neighbours only as on rings.
#include <algorithm>

#include "models/training/group_times.h"
#include "sim/core/cast.h"
#include "sim/net/way_counts.h"

namespace sgdsim {
namespace {

// Half a second. Beyond that the groups that were looked at, of some 100,000 GPUs, show what all
// are.
constexpr int64_t most_pairs = 100'000'000;

}  // namespace

double GroupTimes::direct_s(const RankGroup& group, double sent_B) {
  const double part_B = sent_B / real(group.size);
  const Edges& edges = edges_of(group, part_B);
  const double near = real(edges.crosses ? edges.most_per_node - 1 : group.size - 1);
  const double far = real(edges.crosses ? group.size - edges.per_node : 0);
  const double inside = near * (edges.inside_latency_s + part_B * edges.inside_s_per_B);
  const double cards = far * (edges.across_latency_s + part_B * edges.directly_s_per_B);
  const double ways = far * edges.across_latency_s + part_B * direct_ways_s_per_B(group, part_B);
  return cluster_->network.start().s() + std::max({inside, cards, ways});
}

GroupTimes::Busy GroupTimes::busy_directly(const RankGroup& group, double sent_B) {
  if (group.size <= 1 || sent_B <= 0) return {};
  const double others = real(group.size - 1);
  const double part_B = sent_B / others;
  const Edges& edges = edges_of(group, part_B);
  const double far = edges.crosses ? real(group.size - edges.per_node) : 0;
  const double cards = sent_B * far / others * edges.directly_s_per_B;
  return {sent_B * (others - far) / others * edges.inside_s_per_B,
          std::max(cards, part_B * direct_ways_s_per_B(group, part_B))};
}

double GroupTimes::direct_ways_s_per_B(const RankGroup& group, double part_B) {
  const Network& all = cluster_->network;
  const Edges& edges = edges_of(group, part_B);
  if (!edges.crosses || all.shared_ways().empty()) return 0;
  const auto [place, is_new] = known_direct_ways_.try_emplace({band_start_B(part_B), group}, 0.);
  if (!is_new) return place->second;
  double most = 0;
  for (const SharedWays& shared : all.at_size(part_B).shared_ways()) {
    const PerByte rate = *std::max_element(shared.rates.begin(), shared.rates.end());
    most = std::max(most, rate.ps() * 1e-12 * real(most_parts_on_a_way(group, shared)));
  }
  return place->second = most;
}

int64_t GroupTimes::most_parts_on_a_way(const RankGroup& group, const SharedWays& shared) const {
  WayCounts counts(shared, static_cast<int>(gpus_));
  int64_t pairs = 0;
  for_each_group(group, [&](int64_t first) {
    if (pairs > most_pairs) return;
    pairs += group.size * group.size;
    for (int64_t a = 0; a < group.size; ++a)
      for (int64_t b = 0; b < group.size; ++b)
        if (a != b)
          counts.add(static_cast<int>(first + a * group.stride),
                     static_cast<int>(first + b * group.stride));
  });
  return counts.most();
}

}  // namespace sgdsim
