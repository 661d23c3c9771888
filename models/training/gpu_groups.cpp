// Members `stride` apart, within a stage but for the ends of the pipeline.
#include "models/training/gpu_groups.h"

#include <algorithm>

namespace sgdsim {
namespace {

// How many members every node has, if a group crosses nodes and all have as many; otherwise 1.
int64_t cards_of(const std::vector<int>& members, int64_t per_node) {
  int64_t cards = 0;
  for (std::size_t i = 0; i < members.size();) {
    std::size_t end = i;
    while (end < members.size() && members[end] / per_node == members[i] / per_node) ++end;
    const auto here = static_cast<int64_t>(end - i);
    if (cards != 0 && here != cards) return 1;
    cards = here;
    i = end;
  }
  return cards == static_cast<int64_t>(members.size()) ? 1 : cards;
}

}  // namespace

GpuGroups::OfGpu GpuGroups::of(int64_t gpu) {
  const int64_t of_stage = layout_.gpus() / layout_.pipeline;
  const int64_t stage = gpu / of_stage;
  const int64_t within = gpu % of_stage;
  OfGpu groups;
  const auto add = [&](GroupKind kind, int64_t stride, int64_t size) {
    const int64_t first = within / (stride * size) * (stride * size) + within % stride;
    groups[kind] = place_in(kind, stage * of_stage + first, stride, size, gpu);
  };
  add(GroupKind::tensor, 1, layout_.tensor);
  add(GroupKind::context, layout_.tensor, layout_.context);
  add(GroupKind::experts, 1, layout_.expert);
  add(GroupKind::shards, layout_.tensor, layout_.shards());
  add(GroupKind::expert_shards, layout_.expert, layout_.expert_shards());
  add(GroupKind::shard_copies, layout_.tensor * layout_.shards(), layout_.shard_copies);
  add(GroupKind::expert_copies, layout_.expert * layout_.expert_shards(), layout_.shard_copies);
  const int64_t other = layout_.pipeline - 1 - stage;
  if (other == stage) return groups;
  const int64_t here = std::min(stage, other) * of_stage + within;
  const int64_t apart = std::max(stage, other) * of_stage + within - here;
  groups[GroupKind::copies] = place_in(GroupKind::copies, here, apart, 2, gpu);
  if (std::min(stage, other) == 0)
    groups[GroupKind::ends] = place_in(GroupKind::ends, here, apart, 2, gpu);
  return groups;
}

GpuGroups::Place GpuGroups::place_in(GroupKind kind, int64_t first, int64_t stride, int64_t size,
                                     int64_t gpu) {
  if (size < 2) return {};
  const auto [known, is_new] = known_.try_emplace({kind, first});
  if (is_new) known->second = new_group(first, stride, size);
  return {&known->second, static_cast<std::size_t>((gpu - first) / stride)};
}

GpuGroup GpuGroups::new_group(int64_t first, int64_t stride, int64_t size) {
  GpuGroup group;
  for (int64_t i = 0; i < size; ++i) group.members.push_back(static_cast<int>(first + i * stride));
  const int64_t cards = cards_of(group.members, workers_per_node_);
  for (int64_t card = 0; card < cards; ++card) {
    std::vector<int> ring = group.members;
    for (auto node = ring.begin(); node != ring.end(); node += cards)
      std::rotate(node, node + card, node + cards);
    group.rings.push_back(schedule_.add_group(std::move(ring)));
  }
  return group;
}

uint32_t GroupPrograms::of(Operation operation, int members, int64_t whole_B) {
  const auto [found, is_new] = known_.try_emplace({operation, members, whole_B}, 0);
  if (!is_new) return found->second;
  CollectiveJob job;
  job.operation = operation;
  job.team = {members, 1};
  job.share.total = Bytes(whole_B);
  job.cost = network_.worst_of_band();
  job.network = &network_;
  job.on_wires = true;
  const bool is_direct = operation == Operation::alltoall;
  return found->second = schedule_.add_program(
             schedule_of(algorithm_named(is_direct ? "direct" : "ring", "layout"), job));
}

}  // namespace sgdsim
