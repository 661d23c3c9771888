// What collectives of a group of ranks cost on a cluster, by closed forms: of rings, or of the
// algorithms that were chosen.
//
// A group is `size` ranks that lie `stride` apart; all groups of the kind work at once, and the
// slowest edge of any of them decides. Where several members of a group share a node, a collective
// leaves the node by the cards of all of them, as NCCL's channels do: in as many parts, or as its
// algorithm has it, where that knows nodes (hierarchical). This is wrong where other traffic
// crosses the same wires.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "models/collective/algorithm_choice.h"
#include "models/collective/nccl_box.h"
#include "sim/core/error.h"
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
  backward,
  expert_parts,  // those that split experts
  expert_nodes,  // of the same place in nodes that have all experts together
  expert_node    // those of one node
};
inline constexpr std::size_t group_kinds = 14;

struct RankGroup {
  int64_t stride = 1;
  int64_t size = 1;
  // Groups that begin with so many ranks from this one on are all of the kind; 0: with any, in
  // blocks of stride x size.
  int64_t from = 0;
  int64_t count = 0;
  // Others of the kind, in all blocks, work at the same time as those of `count` ranks.
  bool among_others = false;
  auto operator<=>(const RankGroup&) const = default;
};

// Of the nodes in which a group that begins with `first` has members, the first member and how many
// they are.
template <class F>
void for_each_node(const RankGroup& group, int64_t first, int64_t per_node, const F& f) {
  for (int64_t member = 0; member < group.size;) {
    const int64_t rank = first + member * group.stride;
    const int64_t left = (rank / per_node + 1) * per_node - rank;  // of the node, from there on
    const int64_t here = std::min((left + group.stride - 1) / group.stride, group.size - member);
    f(rank, here);
    member += here;
  }
}

// The chosen algorithm does not do with so many ranks.
class UnfitGroup : public InputError {
 public:
  using InputError::InputError;
};

class GroupTimes {
 public:
  // The first `gpus` workers of the cluster, which must have as many.
  GroupTimes(const Cluster& cluster, int64_t gpus, AlgorithmChoice algorithms = {})
      : cluster_(&cluster), gpus_(gpus), algorithms_(std::move(algorithms)) {}

  // In seconds. `whole_B`: what every member has in the end, or had before a reduce-scatter; of an
  // all-to-all, what every member has for all, itself included. UnfitGroup where the chosen
  // algorithm does not fit the group.
  double seconds(Operation operation, const RankGroup& group, double whole_B);
  double all_gather_s(const RankGroup& group, double whole_B) {
    return seconds(Operation::allgather, group, whole_B);
  }
  double reduce_scatter_s(const RankGroup& group, double whole_B) {
    return seconds(Operation::reduce_scatter, group, whole_B);
  }
  double all_reduce_s(const RankGroup& group, double whole_B) {
    return seconds(Operation::allreduce, group, whole_B);
  }
  double all_to_all_s(const RankGroup& group, double sent_B) {
    return seconds(Operation::alltoall, group, sent_B);
  }
  // The one that takes the time above.
  const Algorithm& algorithm_of(Operation operation, const RankGroup& group, double whole_B);
  // What its members pay before its first message, where it stands for what NCCL's model chooses.
  Duration launch_of(Operation operation, const RankGroup& group, double whole_B);
  const AlgorithmChoice& algorithms() const { return algorithms_; }
  // The dimensions of the cluster's torus along which members of such a group lie, in order; empty
  // where they are no torus.
  std::vector<int> grid_of(const RankGroup& group) const;
  int64_t per_node() const { return cluster_->workers_per_node; }
  // How long links carry bytes that a member of a group sends on, start-ups left out: those inside
  // a node, and the slowest way to another one. Of rings a member sends to the next one; exchanges
  // of all with all go directly.
  struct Busy {
    double inside_s = 0;
    double across_s = 0;
    Busy& operator+=(const Busy& other) {
      inside_s += other.inside_s;
      across_s += other.across_s;
      return *this;
    }
  };
  Busy busy_in_ring(const RankGroup& group, double sent_B);
  Busy busy_directly(const RankGroup& group, double sent_B);
  // What each member of the groups of a kind sends to the next one, at once in all groups; the last
  // one to the first, if that is asked for. In order; where groups differ, the slowest of each.
  std::vector<double> sends_s(const RankGroup& group, double bytes, bool goes_around);
  std::vector<Busy> busy_to_next(const RankGroup& group, double sent_B, bool goes_around);

 private:
  // The slowest edges of a kind of group, alone and as part of a ring.
  struct Edges {
    double inside_latency_s = 0;
    double inside_s_per_B = 0;
    double across_latency_s = 0;
    double across_s_per_B = 0;    // of what one of the rings of a group carries
    double around_s_per_B = 0;    // of what a member sends around all rings of its group
    double directly_s_per_B = 0;  // of what a member sends to another one, but for shared ways
    int64_t per_node = 1;         // members of a group in one node, where fewest
    int64_t most_per_node = 1;    // and where most
    int64_t nodes = 1;            // of a group, at most
    // Members of a group in each node: all kinds, and what is across_s_per_B of them.
    std::map<std::vector<int64_t>, double> members = {};
    bool are_even() const { return most_per_node == per_node; }
    bool crosses = false;
    bool has_inside = false;
    // Of what a member sends around a ring. Of the rings of all cards one leaves by each member,
    // and the others go on inside; but by none where a node has more members than there are rings.
    double part_inside() const {
      const auto rings = static_cast<double>(per_node);
      return crosses && are_even() ? (rings - 1) / rings : 1;
    }
  };
  // From a member to the next one, where the kind of group is slowest.
  struct Way {
    double latency_s = 0;
    double s_per_B = 0;
    bool crosses = false;
  };
  struct Answer {
    const Algorithm* algorithm = nullptr;
    double seconds = 0;
    double launch_s = 0;  // where it stands for another one, beside its own start-ups
  };
  Answer answer_of(Operation operation, const RankGroup& group, double whole_B);
  const Edges& edges_of(const RankGroup& group, double message_B);
  double seconds_of(const Algorithm& algorithm, Operation operation, const RankGroup& group,
                    double whole_B);
  double ring_pass_s(const RankGroup& group, double whole_B);
  double direct_s(const RankGroup& group, double sent_B);
  // For each byte of a part that each member sends to each other one, what the fullest of the ways
  // that nodes share takes.
  double direct_ways_s_per_B(const RankGroup& group, double part_B);
  int64_t most_parts_on_a_way(const RankGroup& group, const SharedWays& shared) const;
  Answer answer_like_nccl(Operation operation, const RankGroup& group, double whole_B);
  std::optional<double> two_levels_s(const Algorithm& algorithm, Operation operation,
                                     const RankGroup& group, double whole_B);
  std::optional<double> on_ports_s(const Algorithm& algorithm, Operation operation,
                                   const RankGroup& group, double whole_B);
  double closed_form_s(const Algorithm& algorithm, Operation operation, const RankGroup& group,
                       double whole_B);
  double band_start_B(double message_B) const;
  Edges find_edges(const RankGroup& group, const Network& network) const;
  const std::vector<Way>& ways_of(const RankGroup& group, double message_B, bool goes_around);
  std::vector<Way> find_ways(const RankGroup& group, const Network& network,
                             bool goes_around) const;
  int most_sends_on_a_way(const RankGroup& group, const SharedWays& shared, bool goes_around) const;
  std::vector<double> loads_of(const RankGroup& group, const Network& network) const;
  template <class F>
  void for_each_ring_send(const RankGroup& group, const F& f) const;
  std::vector<int64_t> members_by_node(const RankGroup& group, int64_t first) const;
  template <class F>
  void for_each_group(const RankGroup& group, const F& f) const;
  template <class F>
  void for_each_send(const RankGroup& group, bool goes_around, const F& f) const;

  const Cluster* cluster_;
  int64_t gpus_;
  AlgorithmChoice algorithms_;
  std::optional<NcclBox> nccl_;                          // found when it is asked for
  std::map<RankGroup, NcclMachine> communicators_;       // of groups
  std::map<std::pair<double, RankGroup>, Edges> known_;  // by band of sizes
  std::map<std::tuple<double, RankGroup, bool>, std::vector<Way>> known_ways_;
  std::map<std::pair<double, RankGroup>, double> known_direct_ways_;
  // Of closed forms: what was asked, and what takes least.
  std::map<std::tuple<Operation, RankGroup, double>, Answer> answers_;
};

// Of the whole groups of that kind, the first members.
template <class F>
void GroupTimes::for_each_group(const RankGroup& group, const F& f) const {
  if (group.count > 0 && !group.among_others) {
    for (int64_t first = group.from; first < group.from + group.count; ++first) f(first);
    return;
  }
  const int64_t ranks = group.stride * group.size;
  const int64_t end = group.among_others ? group.from + group.count : gpus_;
  for (int64_t begin = group.from; begin < end; begin += ranks)
    for (int64_t first = begin; first < begin + group.stride; ++first)
      if (first + (group.size - 1) * group.stride < gpus_) f(first);
}

// One for each thread, made when it is first asked for.
class GroupsOfThreads {
 public:
  GroupsOfThreads(const Cluster& cluster, int64_t gpus, AlgorithmChoice algorithms, int threads)
      : cluster_(cluster),
        gpus_(gpus),
        algorithms_(std::move(algorithms)),
        all_(static_cast<std::size_t>(threads)) {}
  GroupTimes& of(int thread) {
    std::unique_ptr<GroupTimes>& its = all_[static_cast<std::size_t>(thread)];
    if (!its) its = std::make_unique<GroupTimes>(cluster_, gpus_, algorithms_);
    return *its;
  }
  int threads() const { return static_cast<int>(all_.size()); }

 private:
  const Cluster& cluster_;
  int64_t gpus_;
  AlgorithmChoice algorithms_;
  std::vector<std::unique_ptr<GroupTimes>> all_;
};

}  // namespace sgdsim
