// One sweep for each change.
#include "sim/net/max_min.h"

#include <algorithm>
#include <cassert>
#include <functional>

namespace sgdsim {

MaxMin::MaxMin(const std::vector<double>& capacities)
    : resources_(capacities.size()),
      members_(capacities.size()),
      groups_(capacities.size()),
      leaders_(capacities.size()),
      felt_(capacities.size() + 1),
      seen_(capacities.size() + 1),
      asked_(capacities.size()),
      taken_from_(capacities.size()) {
  for (std::size_t r = 0; r < capacities.size(); ++r)
    resources_[r].capacity = resources_[r].room = capacities[r];
}

void MaxMin::mark(uint32_t resource) {
  if (resources_[resource].is_dirty) return;
  resources_[resource].is_dirty = true;
  dirty_.push_back(resource);
}

void MaxMin::add(uint32_t flow, std::span<const ResourceUse> uses, double cap) {
  if (flow >= flows_.size()) {
    flows_.resize(flow + 1);
    rates_.resize(flow + 1);
    noted_.resize(flow + 2);
  }
  assert(!rates_[flow].is_here);
  rates_[flow].rate = 0;
  rates_[flow].bottleneck = none;
  rates_[flow].is_here = true;
  Flow& it = flows_[flow];
  it.uses.clear();
  it.cap = cap;
  find_leaders(uses);
  for (const ResourceUse& use : uses) {
    assert(use.share > 0);
    lead(use);
    std::vector<Member>& members = members_[use.resource];
    const auto place = static_cast<uint32_t>(members.size());
    members.push_back({flow, static_cast<uint32_t>(it.uses.size())});
    it.uses.push_back({use.resource, place, use.share});
  }
  new_.push_back(flow);
}

// Those of a flow that are used up first. Where it uses two, both are followed sooner than
// compared.
void MaxMin::find_leaders(std::span<const ResourceUse> uses) {
  candidates_.clear();
  if (uses.size() <= 2) return;
  const auto comes = [this](uint32_t one, uint32_t other) { return comes_before(one, other); };
  for (const ResourceUse& use : uses) {
    if (use.share < 1) continue;
    const auto place =
        std::upper_bound(candidates_.begin(), candidates_.end(), use.resource, comes);
    candidates_.insert(place, use.resource);
    if (candidates_.size() > most_leaders) candidates_.pop_back();
  }
}

// Before a flow comes: of those that have led a resource, the ones that the flow uses go on to.
void MaxMin::lead(const ResourceUse& use) {
  Resource& resource = resources_[use.resource];
  const bool is_first = members_[use.resource].empty();
  if (!resource.is_led && (!is_first || candidates_.empty())) return;
  std::vector<uint32_t>& leaders = leaders_[use.resource];
  if (is_first) leaders = candidates_;
  std::erase_if(leaders, [&](uint32_t one) {
    return use.share > 1 || !comes_before(one, use.resource) ||
           std::find(candidates_.begin(), candidates_.end(), one) == candidates_.end();
  });
  if (!leaders.empty())
    resource.is_led = true;
  else if (resource.is_led)
    wake(use.resource);
}

// Follows a resource that has been led.
void MaxMin::wake(uint32_t number) {
  Resource& resource = resources_[number];
  resource.is_led = false;
  resource.room = resource.capacity - used(number);
  for (const Member& member : members_[number]) {
    const FlowAtRate& it = rates_[member.flow];
    let_have(resource, it.rate);
    if (it.bottleneck != none) resources_[it.bottleneck].is_regrouped = true;
  }
}

void MaxMin::remove(uint32_t flow) {
  assert(rates_[flow].is_here);
  const double rate = std::exchange(rates_[flow].rate, 0);
  leave_group(flow);
  ++changes_;
  for (const UseAt& use : flows_[flow].uses) {
    Resource& resource = resources_[use.resource];
    std::vector<Member>& members = members_[use.resource];
    swap_members(use.resource, use.place, static_cast<uint32_t>(members.size() - 1));
    members.pop_back();
    resource.room = members.empty() ? resource.capacity : resource.room + rate * use.share;
    if (resource.group > 0) mark(use.resource);
  }
  rates_[flow].is_here = false;
}

void MaxMin::set_capacity(uint32_t number, double capacity) {
  // Who leads whom depends on capacities.
  if (resources_[number].is_led) wake(number);
  for (const Member& member : members_[number])
    for (const UseAt& use : flows_[member.flow].uses)
      if (resources_[use.resource].is_led) wake(use.resource);
  Resource& resource = resources_[number];
  resource.capacity = capacity;
  resource.room = capacity - used(number);
  mark(number);
}

double MaxMin::used(uint32_t resource) const {
  double sum = 0;
  for (const Member& member : members_[resource])
    sum += rates_[member.flow].rate * share_of(member);
  return sum;
}

void MaxMin::start_sweep() {
  level_ = 0;
  most_cap_ = 0;
  moves_ = 0;
  for (const uint32_t flow : new_)
    if (rates_[flow].is_here) open(flow);
  new_.clear();
  for (const uint32_t number : dirty_) {
    resources_[number].is_dirty = false;
    come_up(number);
  }
  dirty_.clear();
  come_up_where_opened();
}

void MaxMin::sweep() {
  start_sweep();
  const auto level_of = [this](uint32_t number) { return resources_[number].comes_up; };
  for (LevelQueue::Entry next; levels_.take(next, level_of);) {
    while (open_ > 0 && caps_.front().first <= next.level) fix_capped();
    level_ = next.level;
    look_at(next.number);
  }
  levels_.restart();
  while (open_ > 0) fix_capped();
  caps_.clear();
  end_sweep();
}

void MaxMin::end_sweep() {
  work_ += static_cast<double>(noted_count_);
  for (const uint32_t flow : opened_) {
    FlowAtRate& it = rates_[flow];
    it.is_opened = false;
    if (it.bottleneck == none) continue;
    Resource& resource = resources_[it.bottleneck];
    resource.group_rate = resource.group == 0 ? it.rate : std::max(resource.group_rate, it.rate);
    join_group(flow, std::exchange(it.bottleneck, none));
  }
  opened_.clear();
}

// What has been opened changes when its resources come up.
void MaxMin::come_up_where_opened() {
  for (const uint32_t number : changed_) {
    resources_[number].is_changed = false;
    come_up(number);
  }
  changed_.clear();
}

// Not more often than rounding asks for.
void MaxMin::add_up(uint32_t number) {
  Resource& resource = resources_[number];
  const auto now = static_cast<uint16_t>(changes_ / most_changes);
  if (std::exchange(resource.added_up, now) != now)
    resource.room = resource.capacity - used(number);
}

void MaxMin::look_at(uint32_t number) {
  Resource& resource = resources_[number];
  resource.comes_up = never;
  add_up(number);
  const double now = next_level(resource);
  if (now == never) return;
  if (is_above(now, level_)) return come_up_at(number, now);  // rates have been found meanwhile
  const double left = resource.room - resource.asked * resource.group_rate;
  if (resource.group == 0 || (left < 0 && is_much(resource, left))) return lower(number);
  if (!is_much(resource, left)) {
    // What seems to be used up is not if somebody has more than the group.
    find_above(number, resource.group_rate, number);
    if (above_.empty()) return fix_open(number, now);
  }
  lift(number);
}

// A group that can rise.
void MaxMin::lift(uint32_t number) {
  if (resources_[number].open == 0 && raise(number)) return;
  above_.clear();
  open_group(number);
}

void MaxMin::open(uint32_t flow) {
  FlowAtRate& it = rates_[flow];
  if (it.is_opened) return;  // as one that is new twice, having been removed
  const double rate = std::exchange(it.rate, 0);
  leave_group(flow);
  it.is_opened = it.is_open = true;
  opened_.push_back(flow);
  note(flow);
  ++open_;
  for (const UseAt& use : flows_[flow].uses) {
    Resource& resource = resources_[use.resource];
    if (resource.is_led) continue;
    if (!resource.is_changed) {
      resource.is_changed = true;
      changed_.push_back(use.resource);
    }
    resource.room += rate * use.share;
    resource.asked += use.share;
    if (++resource.open == members_[use.resource].size()) resource.room = resource.capacity;
  }
  const double cap = flows_[flow].cap;
  most_cap_ = std::max(most_cap_, cap);
  caps_.emplace_back(cap, flow);
  std::push_heap(caps_.begin(), caps_.end(), std::greater<>());
}

// And those who have more there, which have been found.
void MaxMin::open_group(uint32_t number) {
  found_.clear();
  for (uint32_t place = 0; place < resources_[number].group; ++place)
    found_.push_back(members_[number][place].flow);
  for (const uint32_t flow : found_) open(flow);
  for (const Above& it : above_) open(it.flow);
  come_up_where_opened();
}

void MaxMin::fix(uint32_t flow, double rate, uint32_t bottleneck) {
  FlowAtRate& it = rates_[flow];
  it.rate = rate;
  it.bottleneck = bottleneck;
  it.is_open = false;
  --open_;
  ++changes_;
  for (const UseAt& use : flows_[flow].uses) {
    Resource& resource = resources_[use.resource];
    if (resource.is_led) continue;
    let_have(resource, rate);
    resource.room -= rate * use.share;
    resource.asked = --resource.open == 0 ? 0 : resource.asked - use.share;
  }
}

void MaxMin::fix_open(uint32_t number, double rate) {
  if (resources_[number].open == 0) return;
  for (const Member& member : members_[number])
    if (rates_[member.flow].is_open) fix(member.flow, rate, number);
}

void MaxMin::fix_capped() {
  const auto [cap, flow] = caps_.front();
  std::pop_heap(caps_.begin(), caps_.end(), std::greater<>());
  caps_.pop_back();
  if (rates_[flow].is_open) fix(flow, cap, none);
}

}  // namespace sgdsim
