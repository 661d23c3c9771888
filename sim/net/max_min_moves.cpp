// Groups of flows with the same bottleneck get another rate, all at once.
#include <algorithm>

#include "sim/net/max_min.h"

namespace sgdsim {
namespace {

// A change needs some 0.3 moves for each flow that gets another rate. More than these: moves undo
// each other.
constexpr std::size_t most_moves = 64;
constexpr std::size_t most_moves_per_flow = 4;

}  // namespace

// Not where there is nothing, and rounding is all that there is to share.
bool MaxMin::may_move(uint32_t number) {
  if (resources_[number].capacity == 0) return false;
  return ++moves_ <= most_moves + most_moves_per_flow * noted_.size();
}

void MaxMin::join_group(uint32_t flow, uint32_t number) {
  FlowAtRate& it = flows_[flow];
  Resource& resource = resources_[number];
  it.bottleneck = number;
  ++resource.group;
  for (const UseAt& use : it.uses)
    if (use.resource == number) resource.group_asked += use.share;
}

void MaxMin::leave_group(uint32_t flow) {
  FlowAtRate& it = flows_[flow];
  const uint32_t number = std::exchange(it.bottleneck, none);
  if (number == none) return;
  Resource& resource = resources_[number];
  if (--resource.group == 0)
    resource.group_asked = 0;
  else
    for (const UseAt& use : it.uses)
      if (use.resource == number) resource.group_asked -= use.share;
}

// The group, and those who have more than that rate.
void MaxMin::find_members(uint32_t number, double rate) {
  found_.clear();
  above_.clear();
  for (const Member& member : members_[number]) {
    const FlowAtRate& it = flows_[member.flow];
    if (it.is_opened) continue;
    if (it.bottleneck == number)
      found_.push_back(member.flow);
    else if (is_above(it.rate, rate))
      above_.push_back({it.rate, member.flow, it.uses[member.use].share});
  }
}

// At which those who ask use up the room, together with who would have more; others are taken out
// of the list.
double MaxMin::level_of(std::vector<Above>& above, double room, double asked) {
  std::size_t count = 0;
  if (above.size() > 1)
    std::sort(above.begin(), above.end(), [](const Above& one, const Above& other) {
      return one.rate != other.rate ? one.rate > other.rate : one.flow < other.flow;
    });
  for (; count < above.size(); ++count) {
    if (asked > 0 && !is_above(above[count].rate, room / asked)) break;
    room += above[count].rate * above[count].share;
    asked += above[count].share;
  }
  above.resize(count);
  return std::max(0.0, room / asked);
}

// What a group would take more of each resource, for each unit of rate.
void MaxMin::find_met(uint32_t number) {
  met_.clear();
  for (const uint32_t flow : found_)
    for (const UseAt& use : flows_[flow].uses) {
      if (use.resource == number) continue;
      if (rising_[use.resource] == 0) met_.push_back(use.resource);
      rising_[use.resource] += use.share;
    }
}

// How far a group can rise from a rate here, where it is not at home: no further than `most`.
double MaxMin::limit(uint32_t number, uint32_t riser, double rate, double most) {
  const Resource& resource = resources_[number];
  if (resource.open > 0) return -1;  // nobody knows yet
  if (resource.capacity == 0) return 0;
  const double rising = rising_[number];
  const double after = resource.room - rising * (most - rate);
  const bool is_enough = after >= 0 || !is_much(resource, after);
  if (is_enough && (resource.group == 0 || !is_above(most, resource.group_rate))) return most;
  const double room = resource.room + resource.group_asked * resource.group_rate + rising * rate;
  const double asked = resource.group_asked + rising;
  if (!is_above(most, room / asked)) return most;
  others_.clear();
  for (const Member& member : members_[number]) {
    const FlowAtRate& it = flows_[member.flow];
    if (it.is_opened || it.bottleneck == number || it.bottleneck == riser) continue;
    if (!is_above(it.rate, room / asked)) continue;
    others_.push_back({it.rate, member.flow, it.uses[member.use].share});
  }
  return std::min(most, level_of(others_, room, asked));
}

// Of what find_met() has found.
void MaxMin::move_up(uint32_t number, double rate) {
  Resource& here = resources_[number];
  const double more = rate - here.group_rate;
  for (const uint32_t flow : found_) {
    flows_[flow].rate = rate;
    note(flow);
  }
  here.group_rate = rate;
  here.room -= more * here.group_asked;
  count_change(number);
  for (const uint32_t met : met_) {
    resources_[met].room -= more * rising_[met];
    count_change(met);
  }
}

// Gives the room of a bottleneck to its group, as far as nothing else limits it: what does is the
// bottleneck of those that use it from then on. False if that is not so simple.
bool MaxMin::raise(uint32_t number) {
  if (!may_move(number)) return false;
  Resource& here = resources_[number];
  const double old = here.group_rate;
  find_members(number, old + here.room / here.group_asked);
  const double all = level_of(above_, here.room + here.group_asked * old, here.group_asked);
  double rate = all;
  for (const uint32_t flow : found_) rate = std::min(rate, flows_[flow].cap);
  uint32_t limit_at = none;
  find_met(number);
  for (const uint32_t met : met_) {
    const double most = limit(met, number, old, rate);
    if (!is_above(rate, most)) continue;
    rate = most;
    limit_at = met;
  }
  // Where there is room, its own group would rise as well.
  const bool has_room = limit_at != none && resources_[limit_at].group > 0 &&
                        is_above(rate, resources_[limit_at].group_rate);
  const bool is_simple = rate >= old && !has_room;
  if (is_simple) move_up(number, rate);
  for (const uint32_t met : met_) rising_[met] = 0;
  if (!is_simple) return false;

  if (limit_at != none) {
    for (const uint32_t flow : found_) {
      const auto& uses = flows_[flow].uses;
      const auto meets = [&](const UseAt& use) { return use.resource == limit_at; };
      if (std::none_of(uses.begin(), uses.end(), meets)) continue;
      leave_group(flow);
      join_group(flow, limit_at);
    }
    find_members(limit_at, rate);
    move_to(limit_at, rate);
  } else if (rate < all) {
    for (const uint32_t flow : found_)
      if (flows_[flow].cap <= rate) leave_group(flow);
  } else if (!above_.empty()) {
    found_.clear();
    move_to(number, rate);
  }
  come_up(number);
  for (const uint32_t met : met_)
    if (resources_[met].group > 0 || resources_[met].room < 0) come_up(met);
  return true;
}

// Whoever find_members() has found is of the group from now on, and has that rate.
void MaxMin::move_to(uint32_t number, double rate) {
  for (const Above& it : above_) {
    leave_group(it.flow);
    join_group(it.flow, number);
    found_.push_back(it.flow);
  }
  for (const uint32_t flow : found_) {
    FlowAtRate& it = flows_[flow];
    const double less = std::exchange(it.rate, rate) - rate;
    note(flow);
    for (const UseAt& use : it.uses) {
      Resource& resource = resources_[use.resource];
      resource.room += less * use.share;
      count_change(use.resource);
      if (use.resource != number && (resource.group > 0 || resource.room < 0))
        come_up(use.resource);
    }
  }
  resources_[number].group_rate = rate;
  come_up(number);
}

// Takes what is too much from the group and from those who have more than it gets then; open flows
// get as much.
void MaxMin::lower(uint32_t number) {
  const Resource& here = resources_[number];
  find_members(number, next_level(here));
  const double room = here.room + here.group_asked * here.group_rate;
  const double rate =
      here.capacity == 0 ? 0 : level_of(above_, room, here.asked + here.group_asked);
  if (is_above(rate, level_)) return come_up_at(number, rate);
  const bool is_less = here.group == 0 || !is_above(rate, here.group_rate);
  if (found_.empty() && above_.empty()) return fix_open(number, rate);
  if (!is_less || !may_move(number)) return open_found();
  fix_open(number, rate);
  move_to(number, rate);
}

}  // namespace sgdsim
