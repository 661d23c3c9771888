// Max-min fair rates of flows: filled from scratch where only a few flows meet, and else found by
// what changes (max_min.h).
//
// On ports most messages meet nobody, or one or two others. Those who meet, at whatever they use,
// are a knot: if it is small, its rates are filled together, from low to high, and nothing is kept
// but who is where. Whoever meets more joins the crowd and stays there until it is gone, with all
// whom it meets, so that a resource is used by the crowd or by nobody of it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "sim/core/prefetch.h"
#include "sim/net/max_min.h"
#include "sim/net/resources.h"

namespace sgdsim {

class FairRates {
 public:
  explicit FairRates(const std::vector<double>& capacities);

  // As those of MaxMin.
  void add(uint32_t flow, std::span<const ResourceUse> uses, double cap);
  void remove(uint32_t flow);
  void set_capacity(uint32_t resource, double capacity);
  bool is_changed() const { return is_crowd_changed_ || !changed_.empty(); }
  // Calls changed(flow, rate) for every flow whose rate may be another one than before.
  template <class Changed>
  void settle(const Changed& changed) {
    for (const uint32_t flow : changed_) settle_knot(flow, changed);
    changed_.clear();
    for (const uint32_t flow : seen_) flows_[flow].is_seen = false;
    seen_.clear();
    if (!is_crowd_changed_) return;
    is_crowd_changed_ = false;
    crowd_.settle(changed);
  }

  template <class F>
  void for_each_use(uint32_t flow, const F& f) const {
    const Flow& it = flows_[flow];
    if (it.is_crowded) return crowd_.for_each_use(flow, f);
    for (const ResourceUse& use : it.used()) f(use.resource, use.share);
  }
  double rate(uint32_t flow) const {
    return flows_[flow].is_crowded ? crowd_.rate(flow) : flows_[flow].rate;
  }
  double cap(uint32_t flow) const { return flows_[flow].cap; }
  double capacity(uint32_t resource) const { return places_[resource].capacity; }
  double used(uint32_t resource) const;
  bool is_crowded(uint32_t flow) const { return flows_[flow].is_crowded; }
  // How many flows have been looked at.
  double work() const { return work_ + crowd_.work(); }

  // Into the cache: a flow that will soon be removed; and what it uses.
  void fetch(uint32_t flow) const {
    if (flow < flows_.size()) prefetch(&flows_[flow], 1);
  }
  void fetch_for(uint32_t flow) const {
    if (flow >= flows_.size()) return;
    for (const ResourceUse& use : flows_[flow].used()) prefetch(&places_[use.resource], 1);
  }

 private:
  static constexpr std::size_t most_uses = 4;  // of one that is not of the crowd
  static constexpr std::size_t most_here = 4;  // at one resource
  static constexpr std::size_t most_in_knot = 8;
  static constexpr double open = -1;  // no rate yet

  // Of one that uses two ports, what is needed is in one line of the cache.
  struct alignas(64) Flow {
    double cap = 0;
    double rate = 0;
    uint8_t count = 0;  // of uses
    bool is_crowded = false;
    bool is_changed = false;  // as somebody whom it meets
    bool is_seen = false;     // by this settle()
    std::array<ResourceUse, most_uses> uses;
    std::span<const ResourceUse> used() const { return std::span(uses).first(count); }
  };
  // Of flows that are not of the crowd.
  struct alignas(32) Place {
    double capacity = 0;
    uint32_t crowd = 0;  // how many are
    uint32_t count = 0;
    std::array<uint32_t, most_here> flows;
  };
  // A resource of a knot while it is filled.
  struct Share {
    uint32_t resource = 0;
    uint32_t open = 0;  // how many still rise
    double room = 0;
    double asked = 0;  // by those
  };

  void mark(uint32_t flow) {
    if (!std::exchange(flows_[flow].is_changed, true)) changed_.push_back(flow);
  }
  bool fits(std::span<const ResourceUse> uses) const;
  void crowd_with(uint32_t flow);
  void join(uint32_t flow, std::span<const ResourceUse> uses);
  void join_all();
  bool gather(uint32_t flow);
  Share& share_of(uint32_t resource);
  void fill_knot();
  std::size_t find_level(double& level) const;
  void stop_at(std::size_t full, double level);
  void stop(std::size_t place, double rate);

  // Of a flow that meets nobody; `open` if it does.
  double rate_alone(const Flow& flow) const {
    double rate = flow.cap;
    for (const ResourceUse& use : flow.used()) {
      const Place& place = places_[use.resource];
      if (place.count > 1) return open;
      if (rate * use.share > place.capacity) rate = place.capacity / use.share;
    }
    return rate;
  }
  template <class Changed>
  void settle_knot(uint32_t flow, const Changed& changed) {
    Flow& it = flows_[flow];
    it.is_changed = false;
    if (it.count == 0 || it.is_seen) return;  // it has gone, or joined the crowd
    if (const double rate = rate_alone(it); rate != open) return tell(flow, rate, changed);
    if (!gather(flow)) return crowd_with(flow);
    fill_knot();
    for (std::size_t i = 0; i < knot_.size(); ++i) tell(knot_[i], filled_[i], changed);
  }
  template <class Changed>
  void tell(uint32_t flow, double rate, const Changed& changed) {
    if (std::exchange(flows_[flow].rate, rate) == rate) return;
    work_ += 1;
    changed(flow, rate);
  }

  std::vector<Flow> flows_;
  std::vector<Place> places_;      // of resources
  std::vector<uint32_t> changed_;  // flows of whose knots somebody has come or gone
  std::vector<uint32_t> seen_;
  std::vector<uint32_t> knot_;
  std::vector<double> filled_;  // rates of the knot
  std::size_t left_ = 0;        // of it, that still rise
  std::vector<Share> shares_;
  std::vector<uint32_t> joining_;
  MaxMin crowd_;
  bool is_crowd_changed_ = false;
  double work_ = 0;
};

}  // namespace sgdsim
