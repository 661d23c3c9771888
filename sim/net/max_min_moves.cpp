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

void MaxMin::swap_members(uint32_t number, uint32_t place, uint32_t other) {
  std::vector<Member>& members = members_[number];
  std::swap(members[place], members[other]);
  flows_[members[place].flow].uses[members[place].use].place = place;
  flows_[members[other].flow].uses[members[other].use].place = other;
}

void MaxMin::join_group(uint32_t flow, uint32_t number) {
  Resource& resource = resources_[number];
  rates_[flow].bottleneck = number;
  resource.is_regrouped = true;
  for (const UseAt& use : flows_[flow].uses) {
    if (use.resource != number) continue;
    resource.group_asked += use.share;
    swap_members(number, use.place, resource.group++);
  }
}

void MaxMin::leave_group(uint32_t flow) {
  const uint32_t number = std::exchange(rates_[flow].bottleneck, none);
  if (number == none) return;
  Resource& resource = resources_[number];
  resource.is_regrouped = true;
  for (const UseAt& use : flows_[flow].uses) {
    if (use.resource != number) continue;
    swap_members(number, use.place, --resource.group);
    resource.group_asked = resource.group == 0 ? 0 : resource.group_asked - use.share;
  }
}

// Found anew if somebody has joined or left it.
const MaxMin::Group& MaxMin::group_of(uint32_t number) {
  Resource& resource = resources_[number];
  Group& group = groups_[number];
  if (!resource.is_regrouped) return group;
  resource.is_regrouped = false;
  group.met.clear();
  group.least_cap = never;
  for (uint32_t place = 0; place < resource.group; ++place) {
    const Flow& flow = flows_[members_[number][place].flow];
    group.least_cap = std::min(group.least_cap, flow.cap);
    for (const UseAt& use : flow.uses) {
      if (use.resource == number) continue;
      if (asked_[use.resource] == 0) group.met.push_back({use.resource, 0});
      asked_[use.resource] += use.share;
    }
  }
  for (Met& met : group.met) met.asked = std::exchange(asked_[met.resource], 0);
  return group;
}

// Those who have more than that rate, but are not of the group, nor of the one that rises.
MaxMin::Asking MaxMin::find_above(uint32_t number, double rate, uint32_t riser) {
  Asking sum;
  above_.clear();
  const std::vector<Member>& members = members_[number];
  for (std::size_t place = resources_[number].group; place < members.size(); ++place) {
    const auto [flow, use, share] = members[place];
    const FlowAtRate& it = rates_[flow];
    if (!is_above(it.rate, rate) || it.is_opened || it.bottleneck == riser) continue;
    above_.push_back({it.rate, flow, share});
    sum.room += it.rate * share;
    sum.asked += share;
  }
  return sum;
}

// At which those who ask use up the room, together with those who would have more, who are found:
// at first all who might. Without those who would not, the level is higher, so that there may be
// more to take out. Where there is a group, nobody has more than it has but those who were given it
// by this sweep, so that mostly nobody needs to be looked at.
double MaxMin::level_of(uint32_t number, double room, double asked, uint32_t riser) {
  const double least = asked > 0 ? std::max(0.0, room / asked) : level_;
  above_.clear();
  const Resource& here = resources_[number];
  if (here.group > 0 && least >= std::max(here.group_rate, most_given_)) return least;
  Asking above = find_above(number, least, riser);
  if (above_.empty()) return least;
  while (true) {
    const double level = std::max(0.0, (room + above.room) / (asked + above.asked));
    std::size_t count = 0;
    above = {};
    for (const Above& it : above_) {
      if (!is_above(it.rate, level)) continue;
      above_[count++] = it;
      above.room += it.rate * it.share;
      above.asked += it.share;
    }
    if (count == above_.size() || (count == 0 && asked == 0)) return level;
    above_.resize(count);
  }
}

// How far a group can rise from a rate where it is not at home: no further than `most`.
double MaxMin::limit(const Met& met, uint32_t riser, double rate, double most) {
  const Resource& resource = resources_[met.resource];
  if (resource.open > 0) return -1;  // nobody knows yet
  if (resource.capacity == 0) return 0;
  const double after = resource.room - met.asked * (most - rate);
  const bool is_enough = after >= 0 || !is_much(resource, after);
  if (is_enough && (resource.group == 0 || !is_above(most, resource.group_rate))) return most;
  const double room = resource.room + resource.group_asked * resource.group_rate + met.asked * rate;
  const double asked = resource.group_asked + met.asked;
  if (!is_above(most * asked, room)) return most;
  return std::min(most, level_of(met.resource, room, asked, riser));
}

// All of a group get another rate, which others feel.
void MaxMin::move_group(uint32_t number, double rate) {
  Resource& here = resources_[number];
  const double more = rate - std::exchange(here.group_rate, rate);
  if (here.group == 0 || more == 0) return;
  most_given_ = std::max(most_given_, rate);
  for (uint32_t place = 0; place < here.group; ++place) {
    const uint32_t flow = members_[number][place].flow;
    rates_[flow].rate = rate;
    note(flow);
  }
  here.room -= more * here.group_asked;
  count_change(number);
  for (const Met& met : group_of(number).met) {
    Resource& resource = resources_[met.resource];
    resource.room -= more * met.asked;
    count_change(met.resource);
    if (resource.group > 0 || resource.room < 0) come_up(met.resource);
  }
}

// Those whom find_above() has found are of the group from now on, and have its rate.
void MaxMin::move_above(uint32_t number, double rate) {
  for (const Above& above : above_) {
    leave_group(above.flow);
    join_group(above.flow, number);
    note(above.flow);
    const double less = std::exchange(rates_[above.flow].rate, rate) - rate;
    for (const UseAt& use : flows_[above.flow].uses) {
      Resource& resource = resources_[use.resource];
      resource.room += less * use.share;
      count_change(use.resource);
      if (use.resource != number && (resource.group > 0 || resource.room < 0))
        come_up(use.resource);
    }
  }
}

// Those of a group who use another resource are of the group of that one from now on.
void MaxMin::regroup(uint32_t from, uint32_t to) {
  found_.clear();
  for (const Member& member : members_[to]) {
    const FlowAtRate& it = rates_[member.flow];
    if (it.bottleneck == from && !it.is_opened) found_.push_back(member.flow);
  }
  for (const uint32_t flow : found_) {
    leave_group(flow);
    join_group(flow, to);
  }
}

// Gives the room of a bottleneck to its group, as far as nothing else limits it: what does is the
// bottleneck of those that use it from then on. False if that is not so simple.
bool MaxMin::raise(uint32_t number) {
  if (!may_move(number)) return false;
  const Resource& here = resources_[number];
  const Group& group = group_of(number);
  const double old = here.group_rate;
  const double all = level_of(number, here.room + here.group_asked * old, here.group_asked, number);
  const bool is_with_others = !above_.empty();
  double rate = std::min(all, group.least_cap);
  uint32_t limit_at = none;
  for (const Met& met : group.met) {
    const double most = limit(met, number, old, rate);
    if (!is_above(rate, most)) continue;
    rate = most;
    limit_at = met.resource;
  }
  // Where there is room, its own group would rise as well.
  const bool has_room = limit_at != none && resources_[limit_at].group > 0 &&
                        is_above(rate, resources_[limit_at].group_rate);
  if (rate < old || has_room) return false;

  move_group(number, rate);
  if (limit_at != none) {
    find_above(limit_at, rate, limit_at);
    move_group(limit_at, rate);
    move_above(limit_at, rate);
    regroup(number, limit_at);
    come_up(limit_at);
  } else if (rate < all) {
    for (uint32_t place = here.group; place-- > 0;) {
      const uint32_t flow = members_[number][place].flow;
      if (flows_[flow].cap <= rate) leave_group(flow);
    }
  } else if (is_with_others) {
    find_above(number, rate, number);
    move_above(number, rate);
  }
  come_up(number);
  return true;
}

// Takes what is too much from the group and from those who have more than it gets then; open flows
// get as much.
void MaxMin::lower(uint32_t number) {
  const Resource& here = resources_[number];
  const double asked = here.asked + here.group_asked;
  const double room = here.room + here.group_asked * here.group_rate;
  const double level = level_of(number, room, asked, number);
  const double rate = here.capacity == 0 ? 0 : level;
  if (is_above(rate, level_)) return come_up_at(number, rate);
  const bool is_less = here.group == 0 || !is_above(rate, here.group_rate);
  if (here.group == 0 && above_.empty()) return fix_open(number, rate);
  if (!is_less || !may_move(number)) return open_group(number);
  fix_open(number, rate);
  move_group(number, rate);
  move_above(number, rate);
  come_up(number);
}

}  // namespace sgdsim
