// Which GPUs exchange with a GPU, and the collectives in which they do.
#pragma once

#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include "models/training/group_times.h"
#include "models/training/layout.h"
#include "sim/net/cluster.h"
#include "sim/work/rank_schedule.h"

namespace sgdsim {

// GPUs that exchange with each other. A ring that leaves a node with several of its members there
// is as many rings, each with its part of the bytes, so that all their cards are used, as with
// NCCL's channels; so it is with all algorithms but those that know nodes, and direct exchanges.
struct GpuGroup {
  RankGroup ranks;
  std::vector<int> members;     // in the order of their numbers
  std::vector<uint32_t> rings;  // groups of the schedule: one for every card of a node
  bool are_nodes_even = true;   // each has as many members
  // Where they are not: members that are their nodes' first.
  std::vector<std::size_t> node_starts = {};

  // Of a member, by its place in that order.
  uint32_t number_in(std::size_t ring, std::size_t member) const {
    std::size_t cards = rings.size();
    std::size_t start = member / cards * cards;
    if (!are_nodes_even) {
      const auto next = std::upper_bound(node_starts.begin(), node_starts.end(), member);
      start = *std::prev(next);
      cards = (next == node_starts.end() ? members.size() : *next) - start;
    }
    return static_cast<uint32_t>(start + (member - start + cards - ring) % cards);
  }
};

// The groups of all GPUs, which are numbered tp-cp-dp-pp.
class GpuGroups {
 public:
  struct Place {
    const GpuGroup* group = nullptr;  // none: the GPU is alone
    std::size_t member = 0;
    int size() const { return group == nullptr ? 1 : static_cast<int>(group->members.size()); }
    // Of the member so many places behind it, around.
    int64_t neighbour(std::size_t places) const {
      return group->members[(member + places) % group->members.size()];
    }
  };
  class OfGpu {
   public:
    const Place& operator[](GroupKind kind) const {
      return places_[static_cast<std::size_t>(kind)];
    }
    Place& operator[](GroupKind kind) { return places_[static_cast<std::size_t>(kind)]; }

   private:
    std::array<Place, group_kinds> places_;
  };

  GpuGroups(const Layout& layout, int workers_per_node, RankSchedule& schedule)
      : layout_(layout),
        workers_per_node_(static_cast<int64_t>(workers_per_node)),
        schedule_(schedule) {}
  OfGpu of(int64_t gpu);
  // Of the groups of the schedule so far: of which kind they are, and by which card they go. A GPU
  // is in at most one group of a label.
  const std::vector<uint64_t>& labels() const { return labels_; }
  // Whether members of a group do not take each other's places from ring to ring.
  bool has_uneven_rings() const { return has_uneven_rings_; }
  static GroupKind kind_of(uint64_t label) { return static_cast<GroupKind>(label % group_kinds); }

 private:
  Place place_in(GroupKind kind, int64_t first, int64_t stride, int64_t size, int64_t gpu);
  GpuGroup new_group(GroupKind kind, int64_t first, int64_t stride, int64_t size);

  const Layout& layout_;
  int64_t workers_per_node_;
  bool has_uneven_rings_ = false;
  RankSchedule& schedule_;
  std::map<std::pair<GroupKind, int64_t>, GpuGroup> known_;  // by their first member
  std::vector<uint64_t> labels_;
};

// Programs of collectives among the schedule's, by the algorithms that were chosen; equal ones are
// made once.
class GroupPrograms {
 public:
  struct Parts {
    std::size_t count = 1;  // equal ones, each on a ring of the group
    uint32_t program = 0;
  };

  // `equal_chunks`: none is a byte larger than others.
  GroupPrograms(const Network& network, GroupTimes& times, RankSchedule& schedule,
                bool equal_chunks)
      : network_(network), times_(times), schedule_(schedule), equal_chunks_(equal_chunks) {}
  int64_t per_node() const { return times_.per_node(); }
  // `whole_B`: what every member has in the end, or had before; of an all-to-all, what it has for
  // all.
  Parts of(Operation operation, const GpuGroup& group, double whole_B);

 private:
  uint32_t program_of(const Algorithm& algorithm, Operation operation, int members,
                      int64_t per_node, int64_t part_B, const std::vector<int>& grid,
                      Duration launch);

  const Network& network_;
  GroupTimes& times_;
  RankSchedule& schedule_;
  bool equal_chunks_;
  std::map<
      std::tuple<const Algorithm*, Operation, int, int64_t, int64_t, std::vector<int>, Duration>,
      uint32_t>
      known_;
};

}  // namespace sgdsim
