// Max-min fair rates of flows: nobody's rate could be raised without lowering that of one who has
// no more. They are found anew only where a change is felt.
//
// An allocation is max-min fair if and only if every flow has its cap, or a bottleneck: a resource
// that is used up, at which no flow has a higher rate (Bertsekas and Gallager, Data Networks,
// 1992).
//
// After a change, rates are found anew in one sweep from low to high. A resource comes up at the
// level at which its open flows use it up, or at which those whose bottleneck it was stand,
// whichever is lower. In the first case whoever has more here is opened as well; in the second, if
// there is room, they are. What is opened stood above the level of the sweep, and gets a rate above
// it: so nothing is done twice, and whoever stands below the change is never looked at.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "sim/core/event_queue.h"
#include "sim/net/resources.h"

namespace sgdsim {

class MaxMin {
 public:
  explicit MaxMin(const std::vector<double>& capacities);

  // A flow by the caller's number. It has no rate until the next settle().
  void add(uint32_t flow, std::span<const ResourceUse> uses, double cap);
  void remove(uint32_t flow);
  void set_capacity(uint32_t resource, double capacity);

  // Calls changed(flow, rate) for every flow whose rate is another one than before.
  template <class Changed>
  void settle(const Changed& changed) {
    sweep();
    for (const uint32_t flow : opened_)
      if (is_other_rate(flow)) changed(flow, flows_[flow].rate);
    opened_.clear();
  }

  template <class F>
  void for_each_use(uint32_t flow, const F& f) const {
    for (const UseAt& use : flows_[flow].uses) f(use.resource, use.share);
  }
  double rate(uint32_t flow) const { return flows_[flow].rate; }
  uint32_t resources() const { return static_cast<uint32_t>(resources_.size()); }
  double capacity(uint32_t resource) const { return resources_[resource].capacity; }
  // What flows take of a resource.
  double used(uint32_t resource) const;
  // How many flows have been looked at.
  double work() const { return work_; }

 private:
  static constexpr uint32_t none = UINT32_MAX;

  struct UseAt {
    uint32_t resource = 0;
    uint32_t place = 0;  // among the resource's members
    double share = 1;
  };
  struct FlowAtRate {
    double rate = 0;
    uint32_t bottleneck = none;
    bool is_here = false;
    bool is_opened = false;  // by this sweep
    bool is_open = false;    // its rate is not found yet
    double cap = 0;
    double told = 0;  // the rate that the caller knows
    std::vector<UseAt> uses;
  };
  struct Member {
    uint32_t flow = 0;
    uint32_t use = 0;  // of the flow
  };
  struct Resource {
    double capacity = 0;
    double room = 0;       // that is not used
    double asked = 0;      // by open flows, for each unit of rate
    double held_rate = 0;  // of those whose bottleneck it is: nobody here has more
    uint32_t held = 0;     // how many those are
    uint32_t open = 0;
    double no_more_than = 0;  // a rate that nobody has more of who is not opened
    double comes_up = 0;      // when the sweep will look at it
    uint32_t changes = 0;     // of `room` since it was added up
    bool is_dirty = false;
    bool has_other_capacity = false;
    bool is_touched = false;  // by this sweep
    bool is_changed = false;  // flows have been opened here
    std::vector<Member> members;
  };
  using Cap = std::pair<double, uint32_t>;  // and the flow

  void mark(uint32_t resource);
  void touch(uint32_t resource);
  void open(uint32_t flow);
  void open_held(uint32_t resource);
  bool open_above(uint32_t resource, double rate);
  void start_sweep();
  void sweep();
  void look_at(uint32_t resource);
  double next_level(const Resource& resource) const;
  void come_up(uint32_t resource);
  void come_up_where_opened();
  void fix_capped();
  void fix(uint32_t flow, double rate, uint32_t bottleneck);
  void end_sweep();
  bool is_other_rate(uint32_t flow);

  std::vector<FlowAtRate> flows_;
  std::vector<Resource> resources_;
  std::vector<uint32_t> new_;
  std::vector<uint32_t> dirty_;
  std::vector<uint32_t> opened_;
  std::vector<uint32_t> touched_;
  std::vector<uint32_t> changed_;
  EventQueue<uint32_t> levels_;  // of resources, by when they come up
  double level_ = 0;             // of the sweep
  std::vector<Cap> caps_;        // a heap, of caps of opened flows
  double most_cap_ = 0;          // of opened flows
  std::size_t open_ = 0;         // flows
  double work_ = 0;
};

}  // namespace sgdsim
