// Members `stride` apart, within a stage but for the ends of the pipeline.
#include "models/training/gpu_groups.h"

#include <algorithm>

namespace sgdsim {
namespace {

std::vector<uint32_t> members_of(int64_t first, int64_t within, int64_t stride, int64_t size) {
  const int64_t base = first + within / (stride * size) * (stride * size) + within % stride;
  std::vector<uint32_t> ranks;
  for (int64_t i = 0; i < size; ++i) ranks.push_back(static_cast<uint32_t>(base + i * stride));
  return ranks;
}

// How many members every node has, if a group crosses nodes and all have as many; otherwise 1.
int64_t cards_of(const std::vector<uint32_t>& ranks, uint32_t per_node) {
  int64_t cards = 0;
  for (std::size_t i = 0; i < ranks.size();) {
    std::size_t end = i;
    while (end < ranks.size() && ranks[end] / per_node == ranks[i] / per_node) ++end;
    const auto here = static_cast<int64_t>(end - i);
    if (cards != 0 && here != cards) return 1;
    cards = here;
    i = end;
  }
  return cards == static_cast<int64_t>(ranks.size()) ? 1 : cards;
}

}  // namespace

GpuGroups::GpuGroups(const Layout& layout, int workers_per_node, int64_t gpu)
    : workers_per_node_(workers_per_node), gpu_(static_cast<uint32_t>(gpu)) {
  const int64_t of_stage = layout.gpus() / layout.pipeline;
  const int64_t stage = gpu / of_stage;
  const int64_t first = stage * of_stage;
  const int64_t within = gpu % of_stage;
  add(GroupKind::tensor, members_of(first, within, 1, layout.tensor));
  add(GroupKind::context, members_of(first, within, layout.tensor, layout.context));
  add(GroupKind::experts, members_of(first, within, 1, layout.expert));
  add(GroupKind::shards, members_of(first, within, layout.tensor, layout.shards()));
  add(GroupKind::expert_shards, members_of(first, within, layout.expert, layout.expert_shards()));
  add(GroupKind::shard_copies,
      members_of(first, within, layout.tensor * layout.shards(), layout.shard_copies));
  add(GroupKind::expert_copies,
      members_of(first, within, layout.expert * layout.expert_shards(), layout.shard_copies));
  const int64_t other = layout.pipeline - 1 - stage;
  const auto here = static_cast<uint32_t>(std::min(stage, other) * of_stage + within);
  const auto there = static_cast<uint32_t>(std::max(stage, other) * of_stage + within);
  if (here == there) return;
  add(GroupKind::copies, {here, there});
  if (std::min(stage, other) == 0) add(GroupKind::ends, {here, there});
}

void GpuGroups::add(GroupKind kind, std::vector<uint32_t> ranks) {
  if (ranks.size() < 2) return;
  const int64_t cards = cards_of(ranks, static_cast<uint32_t>(workers_per_node_));
  std::vector<Ring>& rings = rings_[static_cast<std::size_t>(kind)];
  for (int64_t card = 0; card < cards; ++card) {
    Ring ring{ranks, 0};
    for (auto node = ring.ranks.begin(); node != ring.ranks.end(); node += cards)
      std::rotate(node, node + card, node + cards);
    ring.number = static_cast<int>(std::find(ring.ranks.begin(), ring.ranks.end(), gpu_) -
                                   ring.ranks.begin());
    rings.push_back(std::move(ring));
  }
}

const Program& GroupPrograms::of(Operation operation, int members, int64_t whole_B) {
  const auto [found, is_new] = known_.try_emplace({operation, members, whole_B}, Program());
  if (!is_new) return found->second;
  CollectiveJob job;
  job.operation = operation;
  job.team = {members, 1};
  job.share.total = Bytes(whole_B);
  job.cost = network_->worst_of_band();
  job.network = network_;
  job.on_wires = true;
  const bool is_direct = operation == Operation::alltoall;
  return found->second = schedule_of(algorithm_named(is_direct ? "direct" : "ring", "layout"), job);
}

}  // namespace sgdsim
