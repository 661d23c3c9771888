// Filling: the resource that has least for each of its flows decides for those, then the next one
// of what is left.
#include "sim/net/max_min.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <functional>
#include <limits>

namespace sgdsim {
namespace {

// Sums of some thousand rates are not rounded worse than that.
constexpr double near_enough = 1e-11;
constexpr double unlimited = std::numeric_limits<double>::infinity();

}  // namespace

MaxMin::MaxMin(const std::vector<double>& capacities) : resources_(capacities.size()) {
  for (std::size_t r = 0; r < capacities.size(); ++r) resources_[r].capacity = capacities[r];
}

void MaxMin::touch(uint32_t resource) {
  if (resources_[resource].is_dirty) return;
  resources_[resource].is_dirty = true;
  dirty_.push_back(resource);
}

void MaxMin::add(uint32_t flow, std::span<const ResourceUse> uses, double cap) {
  if (flow >= flows_.size()) flows_.resize(flow + 1);
  FlowAtRate& it = flows_[flow];
  assert(!it.is_here);
  it.uses.clear();
  it.cap = cap;
  it.rate = 0;
  it.bottleneck = none;
  it.is_here = true;
  for (const ResourceUse& use : uses) {
    Resource& resource = resources_[use.resource];
    const auto place = static_cast<uint32_t>(resource.members.size());
    resource.members.push_back({flow, static_cast<uint32_t>(it.uses.size())});
    it.uses.push_back({use.resource, place, use.share});
  }
  new_.push_back(flow);
}

void MaxMin::remove(uint32_t flow) {
  FlowAtRate& it = flows_[flow];
  assert(it.is_here);
  it.is_here = false;
  it.rate = 0;
  for (const UseAt& use : it.uses) {
    std::vector<Member>& members = resources_[use.resource].members;
    const Member moved = members.back();
    members[use.place] = moved;
    flows_[moved.flow].uses[moved.use].place = use.place;
    members.pop_back();
    if (!members.empty()) touch(use.resource);
  }
}

void MaxMin::set_capacity(uint32_t resource, double capacity) {
  resources_[resource].capacity = capacity;
  resources_[resource].has_other_capacity = true;
  touch(resource);
}

double MaxMin::used(uint32_t resource) const {
  double sum = 0;
  for (const Member& member : resources_[resource].members) {
    const FlowAtRate& it = flows_[member.flow];
    sum += it.rate * it.uses[member.use].share;
  }
  return sum;
}

void MaxMin::join(uint32_t flow) {
  FlowAtRate& it = flows_[flow];
  if (it.is_in_region) return;
  it.is_in_region = true;
  it.before = it.rate;
  region_.push_back(flow);
  for (const UseAt& use : it.uses) {
    Resource& resource = resources_[use.resource];
    if (resource.is_touched) continue;
    resource.is_touched = true;
    touched_.push_back(use.resource);
  }
}

void MaxMin::find_rates() {
  for (const uint32_t flow : new_)
    if (flows_[flow].is_here) join(flow);
  new_.clear();
  for (const uint32_t number : dirty_) {
    Resource& resource = resources_[number];
    resource.is_dirty = false;
    const bool is_over = resource.has_other_capacity && used(number) > resource.capacity;
    resource.has_other_capacity = false;
    for (const Member& member : resource.members)
      if (is_over || flows_[member.flow].bottleneck == number) join(member.flow);
  }
  dirty_.clear();
  if (region_.empty()) return;
  do fill();
  while (widen());
}

void MaxMin::fix(uint32_t flow, double rate, uint32_t bottleneck) {
  FlowAtRate& it = flows_[flow];
  it.rate = rate;
  it.bottleneck = bottleneck;
  it.is_open = false;
  for (const UseAt& use : it.uses) {
    Resource& resource = resources_[use.resource];
    resource.room -= rate * use.share;
    resource.asked -= use.share;
    if (--resource.open == 0 || use.resource == bottleneck) continue;
    levels_.emplace_back(std::max(0.0, resource.room) / resource.asked, use.resource);
    std::push_heap(levels_.begin(), levels_.end(), std::greater<>());
  }
}

// Gives rates to the region, while all others keep theirs.
void MaxMin::fill() {
  work_ += static_cast<double>(region_.size());
  for (const uint32_t flow : region_) flows_[flow].is_open = true;
  levels_.clear();
  for (const uint32_t number : touched_) {
    Resource& resource = resources_[number];
    work_ += static_cast<double>(resource.members.size());
    resource.room = resource.capacity;
    resource.asked = 0;
    resource.open = 0;
    resource.level = unlimited;
    for (const Member& member : resource.members) {
      const FlowAtRate& it = flows_[member.flow];
      const double share = it.uses[member.use].share;
      if (it.is_open) {
        resource.asked += share;
        ++resource.open;
      } else {
        resource.room -= it.rate * share;
      }
    }
    levels_.emplace_back(std::max(0.0, resource.room) / resource.asked, number);
  }
  std::make_heap(levels_.begin(), levels_.end(), std::greater<>());
  by_cap_ = region_;
  std::sort(by_cap_.begin(), by_cap_.end(), [&](uint32_t a, uint32_t b) {
    return std::pair(flows_[a].cap, a) < std::pair(flows_[b].cap, b);
  });
  std::size_t open = region_.size();
  for (auto next = by_cap_.begin(); open > 0;) {
    while (!flows_[*next].is_open) ++next;
    if (levels_.empty() || flows_[*next].cap <= levels_.front().first) {
      fix(*next, flows_[*next].cap, none);
      --open;
      continue;
    }
    const auto [level, number] = levels_.front();
    std::pop_heap(levels_.begin(), levels_.end(), std::greater<>());
    levels_.pop_back();
    Resource& resource = resources_[number];
    if (resource.open == 0) continue;
    // It may have more by now than when this was written down.
    const double now = std::max(0.0, resource.room) / resource.asked;
    if (now > level * (1 + near_enough)) continue;
    resource.level = level;
    for (const Member& member : resource.members)
      if (flows_[member.flow].is_open) {
        fix(member.flow, level, number);
        --open;
      }
  }
}

// Whether others have joined the region.
bool MaxMin::widen() {
  const std::size_t before = region_.size();
  const std::size_t touched = touched_.size();  // before anybody joins
  for (std::size_t t = 0; t < touched; ++t) {
    const uint32_t number = touched_[t];
    const Resource& resource = resources_[number];
    double used = 0;
    double most = 0;
    for (const Member& member : resource.members) {
      const FlowAtRate& it = flows_[member.flow];
      used += it.rate * it.uses[member.use].share;
      most = std::max(most, it.rate);
    }
    const bool is_full = used >= resource.capacity * (1 - near_enough);
    for (const Member& member : resource.members) {
      const FlowAtRate& it = flows_[member.flow];
      if (it.is_in_region) continue;
      const bool was_held_up = it.bottleneck == number;
      const bool is_held_up = is_full && it.rate >= most * (1 - near_enough);
      if ((was_held_up && !is_held_up) || it.rate > resource.level * (1 + near_enough))
        join(member.flow);
    }
  }
  return region_.size() > before;
}

// Rounding is no change.
bool MaxMin::is_other_rate(uint32_t flow) {
  FlowAtRate& it = flows_[flow];
  if (std::abs(it.rate - it.before) > near_enough * it.rate) return true;
  it.rate = it.before;
  return false;
}

void MaxMin::leave_region() {
  for (const uint32_t flow : region_) flows_[flow].is_in_region = false;
  for (const uint32_t resource : touched_) resources_[resource].is_touched = false;
  region_.clear();
  touched_.clear();
}

}  // namespace sgdsim
