// Max-min fair rates of flows: nobody's rate could be raised without lowering that of one who has
// no more. They are found anew only where a change is felt.
//
// An allocation is max-min fair if and only if every flow has its cap, or a bottleneck: a resource
// that is used up, at which no flow has a higher rate (Bertsekas and Gallager, Data Networks,
// 1992).
//
// After a change, rates are found anew in one sweep from low to high, and only where the change is
// felt. Mostly a change moves the rates of some groups of flows that have the same bottleneck, and
// is passed on by what it takes or leaves elsewhere (max_min_moves.cpp): a bottleneck with room
// comes up at the rate of its group and gives the room to it; a resource of which too much is used
// comes up at the level at which it is not, and takes what is above from those who have most. New
// flows have no rate yet: they are open until the first of their resources comes up at which they
// use it up. Groups are opened, too, where moving them is not so simple.
//
// Whoever stands below the level of the sweep is right already and is not looked at again; at the
// end nobody is left who could have more, which is what makes rates max-min fair, however they were
// found. Moves that go on for too long are given up, and what is left is opened: that ends, because
// nothing is opened twice.
//
// A resource whose flows all use a narrower one, too, as the wires of a route often do, is led by
// that one: it is used up only if that one is, and is not followed until another flow comes.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "sim/net/level_queue.h"
#include "sim/net/resources.h"

namespace sgdsim {

class MaxMin {
 public:
  explicit MaxMin(const std::vector<double>& capacities);

  // A flow by the caller's number, which uses no resource twice. It has no rate until the next
  // settle().
  void add(uint32_t flow, std::span<const ResourceUse> uses, double cap);
  void remove(uint32_t flow);
  void set_capacity(uint32_t resource, double capacity);

  // Calls changed(flow, rate) for every flow whose rate may be another one than before.
  template <class Changed>
  void settle(const Changed& changed) {
    sweep();
    for (std::size_t i = 0; i < noted_count_; ++i) {
      FlowAtRate& it = rates_[noted_[i]];
      it.is_noted = false;
      changed(noted_[i], it.rate);
    }
    noted_count_ = 0;
  }

  template <class F>
  void for_each_use(uint32_t flow, const F& f) const {
    for (const UseAt& use : flows_[flow].uses) f(use.resource, use.share);
  }
  double rate(uint32_t flow) const { return rates_[flow].rate; }
  double cap(uint32_t flow) const { return flows_[flow].cap; }
  uint32_t resources() const { return static_cast<uint32_t>(resources_.size()); }
  double capacity(uint32_t resource) const { return resources_[resource].capacity; }
  // What flows take of a resource.
  double used(uint32_t resource) const;
  // How many flows have been looked at.
  double work() const { return work_; }

 private:
  static constexpr uint32_t none = UINT32_MAX;
  static constexpr double never = std::numeric_limits<double>::infinity();
  // Sums of some thousand rates are not rounded worse than that.
  static constexpr double near_enough = 1e-11;
  // That lead what else a flow uses.
  static constexpr std::size_t most_leaders = 8;
  // After so many, what a resource has left is added up anew when it is looked at.
  static constexpr uint32_t most_changes = 1 << 16;

  struct UseAt {
    uint32_t resource = 0;
    uint32_t place = 0;  // among the resource's members
    double share = 1;
  };
  struct Flow {
    double cap = 0;
    std::vector<UseAt> uses;
  };
  // What is looked at most of a flow, apart from the rest so that it stays in the cache.
  struct FlowAtRate {
    double rate = 0;
    uint32_t bottleneck = none;
    bool is_here = false;
    bool is_noted = false;   // in noted_
    bool is_opened = false;  // by this sweep
    bool is_open = false;    // its rate is not found yet
  };
  struct Member {
    uint32_t flow = 0;
    uint32_t use = 0;  // of the flow
  };
  // In one line of the cache. Its group is whoever has it as bottleneck and is not opened.
  struct alignas(64) Resource {
    double capacity = 0;
    double room = 0;          // that is not used; below 0: too much is
    double asked = 0;         // by open flows, for each unit of rate
    double group_asked = 0;   // by its group
    double group_rate = 0;    // of each of the group: nobody here has more
    double comes_up = never;  // when the sweep will look at it
    uint32_t group = 0;       // how many those are: the first of its members
    uint32_t open = 0;        // flows
    float others_most = 0;    // nobody who is not of the group has a higher rate
    uint16_t added_up = 0;    // `room`, in which part of the changes
    bool is_dirty : 1 = false;
    bool is_regrouped : 1 = false;
    bool is_changed : 1 = false;  // flows have been opened here
    bool is_led : 1 = false;      // by another one: not followed
  };
  static_assert(sizeof(Resource) == 64);
  struct Met {
    uint32_t resource = 0;
    double asked = 0;  // by the group, for each unit of rate
  };
  // What a group has in common, as long as nobody joins or leaves it.
  struct Group {
    std::vector<Met> met;  // resources that it uses, but for its own
    double least_cap = never;
  };
  using Cap = std::pair<double, uint32_t>;  // and the flow
  // Who has more than others at a resource.
  struct Above {
    double rate = 0;
    uint32_t flow = 0;
    double share = 1;
  };
  // How far a group rises, and what limits it; none: what it asks itself.
  struct Rise {
    uint32_t limit_at = none;
    double rate = 0;
  };
  // What several have together, and what they take for each unit of rate.
  struct Asking {
    double room = 0;
    double asked = 0;
    void add(const Above& it) {
      room += it.rate * it.share;
      asked += it.share;
    }
  };

  static bool is_above(double one, double other) { return one > other * (1 + near_enough); }
  static bool is_much(const Resource& resource, double room) {
    return std::abs(room) > resource.capacity * near_enough;
  }
  // In which order resources are led: no two lead each other.
  bool comes_before(uint32_t one, uint32_t other) const {
    const double capacity = resources_[one].capacity;
    const double its = resources_[other].capacity;
    return capacity != its ? capacity < its : one < other;
  }
  void find_leaders(std::span<const ResourceUse> uses);
  void lead(const ResourceUse& use);
  void wake(uint32_t resource);
  double share_of(const Member& member) const { return flows_[member.flow].uses[member.use].share; }
  void mark(uint32_t resource);
  // Somebody who is not of the group has that rate.
  static void let_have(Resource& resource, double rate) {
    resource.others_most = std::max(resource.others_most, no_less(rate));
  }
  static bool may_have_more(const Resource& resource, double rate) {
    return is_above(static_cast<double>(resource.others_most), rate);
  }
  static float no_less(double rate) { return static_cast<float>(rate * (1 + 0x1p-23)); }
  void note(uint32_t flow) {
    noted_[noted_count_] = flow;
    noted_count_ += std::exchange(rates_[flow].is_noted, true) ? 0U : 1U;
  }

  // max_min.cpp: the sweep.
  void start_sweep();
  void sweep();
  void end_sweep();
  // Makes the sweep look at a resource, if there is anything to do.
  void come_up(uint32_t number) {
    Resource& resource = resources_[number];
    if (resource.comes_up <= level_) return;
    const double level = std::max(level_, next_level(resource));
    if (!levels_.serves(resource.comes_up, level)) {
      if (level >= resource.comes_up) return;
      levels_.push(level, number);
    }
    resource.comes_up = level;
  }
  double next_level(const Resource& resource) const;
  void come_up_at(uint32_t resource, double level);
  void come_up_where_opened();
  void add_up(uint32_t resource);
  void look_at(uint32_t resource);
  void lift(uint32_t resource);
  void open(uint32_t flow);
  void open_group(uint32_t resource);
  void fix(uint32_t flow, double rate, uint32_t bottleneck);
  void fix_open(uint32_t resource, double rate);
  void fix_capped();

  // max_min_moves.cpp: groups whose rate changes.
  void swap_members(uint32_t resource, uint32_t place, uint32_t other);
  void join_group(uint32_t flow, uint32_t resource);
  void leave_group(uint32_t flow);
  void find_group(uint32_t resource);
  // Found anew if somebody has joined or left it.
  const Group& group_of(uint32_t resource) {
    if (resources_[resource].is_regrouped) find_group(resource);
    return groups_[resource];
  }
  void find_above(uint32_t resource, double rate, uint32_t riser);
  double level_of(uint32_t resource, double room, double asked, uint32_t riser);
  double level_with_above(double room, double asked);
  Rise find_rise(uint32_t resource, double most);
  bool raise(uint32_t resource);
  double limit(const Met& met, uint32_t riser, double rate, double most);
  void move_group(uint32_t resource, double rate);
  void move_above(uint32_t resource, double rate);
  void regroup(uint32_t from, uint32_t to);
  void lower(uint32_t resource);
  bool may_move(uint32_t resource);

  std::vector<Flow> flows_;
  std::vector<FlowAtRate> rates_;  // of flows
  std::vector<Resource> resources_;
  std::vector<std::vector<Member>> members_;    // of each
  std::vector<Group> groups_;                   // of each
  std::vector<std::vector<uint32_t>> leaders_;  // of each that is led
  std::vector<uint32_t> candidates_;            // to lead what a new flow uses
  std::vector<uint32_t> new_;
  std::vector<uint32_t> dirty_;
  std::vector<uint32_t> noted_;  // flows that may have another rate: so many of these
  std::size_t noted_count_ = 0;
  std::vector<uint32_t> opened_;
  std::vector<uint32_t> changed_;
  LevelQueue levels_;             // of resources, by when they come up
  double level_ = 0;              // of the sweep
  std::vector<Cap> caps_;         // a heap, of caps of opened flows
  double most_cap_ = 0;           // of opened flows
  std::size_t open_ = 0;          // flows
  uint32_t changes_ = 0;          // of any resource's room, by a flow or a group
  std::size_t moves_ = 0;         // of this sweep
  std::vector<const Met*> felt_;  // those of a group that feel it
  std::vector<uint32_t> seen_;    // places among the members of a resource
  std::vector<uint32_t> found_;   // the group of one resource
  std::vector<Above> above_;      // those who have more there
  std::vector<double> asked_;     // by a group, of all resources
  // Of resources where a group takes too much: from which level on others give it, or a bit above,
  // so that a group with the same bottleneck comes first.
  std::vector<double> taken_from_;
  double work_ = 0;
};

// When the sweep must look at a resource, or earlier.
inline double MaxMin::next_level(const Resource& resource) const {
  if (resource.group > 0) {
    // What is left if open flows get what the group has.
    const double left = resource.room - resource.asked * resource.group_rate;
    if (!is_much(resource, left)) {
      const bool is_up = resource.open > 0 || may_have_more(resource, resource.group_rate);
      return is_up ? resource.group_rate : never;
    }
    if (left > 0) return resource.group_rate;
    return std::max(0.0, resource.group_rate + left / (resource.asked + resource.group_asked));
  }
  if (resource.open == 0)
    return resource.room < 0 && is_much(resource, resource.room) ? level_ : never;
  // If it has enough for all caps, these come first.
  const double room = std::clamp(resource.room, 0.0, resource.capacity);
  return room >= resource.asked * most_cap_ ? never : room / resource.asked;
}

inline void MaxMin::come_up_at(uint32_t number, double level) {
  Resource& resource = resources_[number];
  level = std::max(level_, level);
  if (level >= resource.comes_up) return;
  if (!levels_.serves(std::exchange(resource.comes_up, level), level)) levels_.push(level, number);
}

}  // namespace sgdsim
