// Members `stride` apart, within a stage but for the ends of the pipeline.
#include "models/training/gpu_groups.h"

#include <algorithm>

#include "sim/core/cast.h"
#include "sim/core/error.h"

namespace sgdsim {
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
  if (layout_.dispatch == Dispatch::node) {
    const int64_t of_node = std::min(layout_.expert_ranks(), workers_per_node_);
    add(GroupKind::expert_nodes, of_node, layout_.expert_ranks() / of_node);
    add(GroupKind::expert_node, 1, of_node);
  } else {
    add(GroupKind::experts, layout_.expert_tensor, layout_.expert);
    add(GroupKind::expert_parts, 1, layout_.expert_tensor);
  }
  add(GroupKind::shards, layout_.tensor, layout_.shards());
  add(GroupKind::expert_shards, layout_.expert_ranks(), layout_.expert_shards());
  add(GroupKind::shard_copies, layout_.tensor * layout_.shards(), layout_.shard_copies);
  add(GroupKind::expert_copies, layout_.expert_ranks() * layout_.expert_shards(),
      layout_.shard_copies);
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
  if (is_new) known->second = new_group(kind, first, stride, size);
  return {&known->second, static_cast<std::size_t>((gpu - first) / stride)};
}

GpuGroup GpuGroups::new_group(GroupKind kind, int64_t first, int64_t stride, int64_t size) {
  GpuGroup group{.ranks = {stride, size}, .members = {}, .rings = {}};
  for (int64_t i = 0; i < size; ++i) group.members.push_back(static_cast<int>(first + i * stride));
  // As many rings as the node with the fewest members has cards for; one that stays inside.
  std::vector<int64_t> nodes;  // members in each
  for_each_node(group.ranks, first, workers_per_node_,
                [&](int64_t, int64_t members) { nodes.push_back(members); });
  const int64_t least = *std::min_element(nodes.begin(), nodes.end());
  group.are_nodes_even = least == *std::max_element(nodes.begin(), nodes.end());
  for (std::size_t node = 0, start = 0; node < nodes.size() && !group.are_nodes_even; ++node) {
    group.node_starts.push_back(start);
    start += static_cast<std::size_t>(nodes[node]);
  }
  const int64_t cards = nodes.size() > 1 ? least : 1;
  has_uneven_rings_ = has_uneven_rings_ || (cards > 1 && !group.are_nodes_even);
  for (int64_t card = 0; card < cards; ++card) {
    std::vector<int> ring = group.members;
    auto node = ring.begin();
    for (const int64_t count : nodes) {
      std::rotate(node, node + card, node + count);
      node += count;
    }
    group.rings.push_back(schedule_.add_group(std::move(ring)));
    labels_.push_back(static_cast<uint64_t>(card) * group_kinds + static_cast<uint64_t>(kind));
  }
  return group;
}

GroupPrograms::Parts GroupPrograms::of(Operation operation, const GpuGroup& group, double whole_B) {
  const Algorithm& algorithm = times_.algorithm_of(operation, group.ranks, whole_B);
  const auto members = static_cast<int>(group.members.size());
  const bool knows_nodes = algorithm.parts != nullptr;
  const bool is_whole = knows_nodes || operation == Operation::alltoall;
  const std::size_t count = is_whole ? 1 : group.rings.size();
  const int64_t part_B = Bytes::nearest(whole_B / real(static_cast<int64_t>(count))).count();
  const int64_t per_node =
      knows_nodes && group.are_nodes_even ? static_cast<int64_t>(group.rings.size()) : 1;
  return {count,
          program_of(algorithm, operation, members, per_node, part_B,
                     is_whole || count == 1 ? times_.grid_of(group.ranks) : std::vector<int>(),
                     times_.launch_of(operation, group.ranks, whole_B))};
}

uint32_t GroupPrograms::program_of(const Algorithm& algorithm, Operation operation, int members,
                                   int64_t per_node, int64_t part_B, const std::vector<int>& grid,
                                   Duration launch) {
  const auto [found, is_new] =
      known_.try_emplace({&algorithm, operation, members, per_node, part_B, grid, launch}, 0);
  if (!is_new) return found->second;
  CollectiveJob job;
  job.operation = operation;
  job.team = {members, 1};
  job.share.total = Bytes(part_B);
  job.share.fractional = equal_chunks_;
  job.cost = network_.worst_of_band();
  job.network = &network_;
  job.workers_per_node = static_cast<int>(per_node);
  job.grid = grid;
  job.on_wires = true;
  job.launch = launch;
  try {
    return found->second = schedule_.add_program(schedule_of(algorithm, job));
  } catch (const InputError& error) {
    throw InputError("--algorithm", error.what());
  }
}

}  // namespace sgdsim
