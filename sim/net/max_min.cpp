// One sweep for each change.
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
// After so many, what a resource has left is added up anew.
constexpr uint32_t most_changes = 1024;
constexpr double never = std::numeric_limits<double>::infinity();

bool is_above(double one, double other) { return one > other * (1 + near_enough); }

// Levels as moments of a queue: doubles that are not negative have the order of their bits. This is
// std::bit_cast, which the library for browsers does not have.
Time moment_of(double level) {
  return Time::at(Duration::ps(__builtin_bit_cast(int64_t, level + 0.0)));
}
double level_at(Time moment) { return __builtin_bit_cast(double, moment.ps()); }

}  // namespace

MaxMin::MaxMin(const std::vector<double>& capacities) : resources_(capacities.size()) {
  for (std::size_t r = 0; r < capacities.size(); ++r)
    resources_[r].capacity = resources_[r].room = capacities[r];
}

void MaxMin::mark(uint32_t resource) {
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
  it.rate = it.told = 0;
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
  for (const UseAt& use : it.uses) {
    Resource& resource = resources_[use.resource];
    std::vector<Member>& members = resource.members;
    const Member moved = members.back();
    members[use.place] = moved;
    flows_[moved.flow].uses[moved.use].place = use.place;
    members.pop_back();
    resource.room = members.empty() ? resource.capacity : resource.room + it.rate * use.share;
    ++resource.changes;
    if (it.bottleneck == use.resource) --resource.held;
    if (resource.held > 0) mark(use.resource);
  }
  it.is_here = false;
  it.rate = 0;
  it.bottleneck = none;
}

void MaxMin::set_capacity(uint32_t number, double capacity) {
  Resource& resource = resources_[number];
  resource.room += capacity - resource.capacity;
  resource.capacity = capacity;
  resource.changes = most_changes;  // of another size
  resource.has_other_capacity = true;
  mark(number);
}

double MaxMin::used(uint32_t resource) const {
  double sum = 0;
  for (const Member& member : resources_[resource].members) {
    const FlowAtRate& it = flows_[member.flow];
    sum += it.rate * it.uses[member.use].share;
  }
  return sum;
}

void MaxMin::touch(uint32_t number) {
  Resource& resource = resources_[number];
  resource.is_touched = true;
  touched_.push_back(number);
  if (++resource.changes > most_changes) {
    resource.room = resource.capacity - used(number);
    resource.changes = 0;
  }
  resource.asked = 0;
  resource.open = 0;
  resource.no_more_than = resource.held > 0 ? resource.held_rate : never;
  resource.comes_up = never;
}

void MaxMin::open(uint32_t flow) {
  FlowAtRate& it = flows_[flow];
  if (it.is_opened) return;
  it.is_opened = it.is_open = true;
  opened_.push_back(flow);
  ++open_;
  for (const UseAt& use : it.uses) {
    Resource& resource = resources_[use.resource];
    if (!resource.is_touched) touch(use.resource);
    if (!resource.is_changed) {
      resource.is_changed = true;
      changed_.push_back(use.resource);
    }
    resource.room += it.rate * use.share;
    resource.asked += use.share;
    if (++resource.open == resource.members.size()) resource.room = resource.capacity;
    if (it.bottleneck == use.resource) --resource.held;
  }
  it.rate = 0;
  it.bottleneck = none;
  most_cap_ = std::max(most_cap_, it.cap);
  caps_.emplace_back(it.cap, flow);
  std::push_heap(caps_.begin(), caps_.end(), std::greater<>());
}

// Those whose bottleneck it was.
void MaxMin::open_held(uint32_t number) {
  for (const Member& member : resources_[number].members)
    if (flows_[member.flow].bottleneck == number && !flows_[member.flow].is_opened)
      open(member.flow);
}

// Whether there was anybody.
bool MaxMin::open_above(uint32_t number, double rate) {
  bool any = false;
  for (const Member& member : resources_[number].members) {
    const FlowAtRate& it = flows_[member.flow];
    if (it.is_opened || !is_above(it.rate, rate)) continue;
    open(member.flow);
    any = true;
  }
  resources_[number].no_more_than = rate;
  return any;
}

void MaxMin::start_sweep() {
  for (const uint32_t flow : new_)
    if (flows_[flow].is_here) open(flow);
  new_.clear();
  for (const uint32_t number : dirty_) {
    Resource& resource = resources_[number];
    resource.is_dirty = false;
    if (!resource.is_touched) touch(number);
    if (resource.has_other_capacity && resource.room < 0) open_above(number, 0);
    resource.has_other_capacity = false;
  }
  dirty_.clear();
  for (const uint32_t number : touched_) come_up(number);
  for (const uint32_t number : changed_) resources_[number].is_changed = false;
  changed_.clear();
}

void MaxMin::sweep() {
  level_ = 0;
  most_cap_ = 0;
  start_sweep();
  while (!levels_.empty()) {
    const auto [moment, number] = levels_.pop();
    const double level = level_at(moment);
    if (resources_[number].comes_up != level) continue;  // it came up earlier
    while (open_ > 0 && caps_.front().first <= level) fix_capped();
    level_ = level;
    look_at(number);
  }
  levels_.restart();
  while (open_ > 0) fix_capped();
  caps_.clear();
  end_sweep();
}

// Makes the sweep look at a resource, not later than it must.
void MaxMin::come_up(uint32_t number) {
  Resource& resource = resources_[number];
  const double level = std::max(level_, next_level(resource));
  if (level >= resource.comes_up) return;
  resource.comes_up = level;
  levels_.push(moment_of(level), number);
}

double MaxMin::next_level(const Resource& resource) const {
  const double level = resource.held > 0 ? resource.held_rate : never;
  if (resource.open == 0) return level;
  // If it has enough for all caps, these come first.
  const double room = std::clamp(resource.room, 0.0, resource.capacity);
  if (room >= resource.asked * most_cap_) return level;
  return std::min(level, room / resource.asked);
}

// What has been opened changes when its resources come up.
void MaxMin::come_up_where_opened() {
  for (const uint32_t number : changed_) {
    resources_[number].is_changed = false;
    come_up(number);
  }
  changed_.clear();
}

void MaxMin::look_at(uint32_t number) {
  Resource& resource = resources_[number];
  resource.comes_up = never;
  const double now = next_level(resource);
  if (now == never) return;
  if (is_above(now, level_)) return come_up(number);  // rates have been found meanwhile
  if (resource.open == 0) {
    if (resource.room > resource.capacity * near_enough) open_held(number);
    return come_up_where_opened();
  }
  const double filled = std::clamp(resource.room, 0.0, resource.capacity) / resource.asked;
  if (resource.held > 0 && (is_above(filled, resource.held_rate) ||  //
                            is_above(resource.held_rate, filled))) {
    open_held(number);
    return come_up_where_opened();
  }
  if (is_above(resource.no_more_than, filled) && open_above(number, filled))
    return come_up_where_opened();
  for (const Member& member : resource.members)
    if (flows_[member.flow].is_open) fix(member.flow, filled, number);
}

void MaxMin::fix_capped() {
  const auto [cap, flow] = caps_.front();
  std::pop_heap(caps_.begin(), caps_.end(), std::greater<>());
  caps_.pop_back();
  if (flows_[flow].is_open) fix(flow, cap, none);
}

void MaxMin::fix(uint32_t flow, double rate, uint32_t bottleneck) {
  FlowAtRate& it = flows_[flow];
  it.rate = rate;
  it.bottleneck = bottleneck;
  it.is_open = false;
  --open_;
  for (const UseAt& use : it.uses) {
    Resource& resource = resources_[use.resource];
    resource.room -= rate * use.share;
    resource.asked -= use.share;
    --resource.open;
  }
}

void MaxMin::end_sweep() {
  work_ += static_cast<double>(opened_.size());
  for (const uint32_t number : touched_) resources_[number].is_touched = false;
  touched_.clear();
  for (const uint32_t flow : opened_) {
    FlowAtRate& it = flows_[flow];
    it.is_opened = false;
    if (it.bottleneck == none) continue;
    Resource& resource = resources_[it.bottleneck];
    resource.held_rate = resource.held == 0 ? it.rate : std::max(resource.held_rate, it.rate);
    ++resource.held;
  }
}

// Rounding is no change.
bool MaxMin::is_other_rate(uint32_t flow) {
  FlowAtRate& it = flows_[flow];
  if (std::abs(it.rate - it.told) <= near_enough * it.rate) return false;
  it.told = it.rate;
  return true;
}

}  // namespace sgdsim
