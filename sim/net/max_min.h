// Max-min fair rates of flows: nobody's rate could be raised without lowering that of one who has
// no more. They are found anew only where a change is felt.
//
// An allocation is max-min fair if and only if every flow has its cap, or a bottleneck: a resource
// that is used up, at which no flow has a higher rate (Bertsekas and Gallager, Data Networks,
// 1992). After a change, the flows that have come, and those whose bottleneck has room again, are
// filled while all others keep their rates. Others whose bottleneck no longer is one, or who have
// more than a flow that is held up at the same resource, join them, until every flow has its
// bottleneck.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

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
    find_rates();
    for (const uint32_t flow : region_) {
      if (is_other_rate(flow)) changed(flow, flows_[flow].rate);
    }
    leave_region();
  }

  template <class F>
  void for_each_use(uint32_t flow, const F& f) const {
    for (const UseAt& use : flows_[flow].uses) f(use.resource, use.share);
  }
  double rate(uint32_t flow) const { return flows_[flow].rate; }
  double capacity(uint32_t resource) const { return resources_[resource].capacity; }
  // What flows take of a resource.
  double used(uint32_t resource) const;
  // How many flows and resources have been looked at.
  double work() const { return work_; }

 private:
  static constexpr uint32_t none = UINT32_MAX;

  struct UseAt {
    uint32_t resource = 0;
    uint32_t place = 0;  // among the resource's members
    double share = 1;
  };
  struct FlowAtRate {
    std::vector<UseAt> uses;
    double cap = 0;
    double rate = 0;
    double before = 0;  // the region: the rate before
    uint32_t bottleneck = none;
    bool is_here = false;
    bool is_in_region = false;
    bool is_open = false;  // its rate is being found
  };
  struct Member {
    uint32_t flow = 0;
    uint32_t use = 0;  // of the flow
  };
  struct Resource {
    double capacity = 0;
    std::vector<Member> members;
    bool is_dirty = false;
    bool has_other_capacity = false;
    bool is_touched = false;  // by the region
    // While rates are found:
    double room = 0;
    double asked = 0;  // by open flows, for each unit of rate
    uint32_t open = 0;
    double level = 0;  // of the flows that it holds up
  };
  using Level = std::pair<double, uint32_t>;  // and the resource

  void touch(uint32_t resource);
  void join(uint32_t flow);
  void find_rates();
  void fill();
  void fix(uint32_t flow, double rate, uint32_t bottleneck);
  bool widen();
  bool is_other_rate(uint32_t flow);
  void leave_region();

  std::vector<FlowAtRate> flows_;
  std::vector<Resource> resources_;
  std::vector<uint32_t> new_;
  std::vector<uint32_t> dirty_;
  std::vector<uint32_t> region_;
  std::vector<uint32_t> touched_;
  std::vector<uint32_t> by_cap_;
  std::vector<Level> levels_;  // a heap
  double work_ = 0;
};

}  // namespace sgdsim
