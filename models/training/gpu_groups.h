// Which GPUs exchange with a GPU, and the collectives that they play, round by round.
#pragma once

#include <array>
#include <map>
#include <tuple>
#include <vector>

#include "models/collective/collective.h"
#include "models/collective/rank_writer.h"
#include "models/training/layout.h"
#include "sim/net/cluster.h"

namespace sgdsim {

// Groups and messages of different kinds never have the same tags.
enum class GroupKind : uint8_t {
  tensor,
  context,
  experts,
  shards,         // what is not an expert
  expert_shards,  // those that hold the same experts
  shard_copies,   // those that hold the same shard of either
  expert_copies,
  ends,     // first and last stage: the embedding
  copies,   // with dualpipe, of a stage
  forward,  // from stage to stage
  backward
};
inline constexpr std::size_t group_kinds = 11;

// One GPU's groups. GPUs are numbered tp-cp-dp-pp.
class GpuGroups {
 public:
  struct Ring {
    std::vector<uint32_t> ranks;
    int number = 0;  // of the GPU among them
  };

  GpuGroups(const Layout& layout, int workers_per_node, int64_t gpu);

  // In the order of their numbers, and once more for every further card of a node.
  const std::vector<Ring>& rings(GroupKind kind) const {
    return rings_[static_cast<std::size_t>(kind)];
  }
  int size(GroupKind kind) const {
    const auto& rings = rings_[static_cast<std::size_t>(kind)];
    return rings.empty() ? 1 : static_cast<int>(rings.front().ranks.size());
  }

 private:
  void add(GroupKind kind, std::vector<uint32_t> ranks);

  int workers_per_node_;
  uint32_t gpu_;
  std::array<std::vector<Ring>, group_kinds> rings_;
};

// Programs of collectives; equal ones are made once.
class GroupPrograms {
 public:
  explicit GroupPrograms(const Network& network) : network_(&network) {}
  // `whole_B`: what every member has in the end, or had before; of an all-to-all, what it has for
  // all.
  const Program& of(Operation operation, int members, int64_t whole_B);

 private:
  const Network* network_;
  std::map<std::tuple<Operation, int, int64_t>, Program> known_;
};

}  // namespace sgdsim
