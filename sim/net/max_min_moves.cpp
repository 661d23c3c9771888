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
  return ++moves_ <= most_moves + most_moves_per_flow * noted_count_;
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
  let_have(resource, rates_[flow].rate);
  for (const UseAt& use : flows_[flow].uses) {
    if (use.resource != number) continue;
    swap_members(number, use.place, --resource.group);
    resource.group_asked = resource.group == 0 ? 0 : resource.group_asked - use.share;
  }
}

void MaxMin::find_group(uint32_t number) {
  Resource& resource = resources_[number];
  Group& group = groups_[number];
  resource.is_regrouped = false;
  group.least_cap = never;
  uint32_t* end = seen_.data();
  asked_[number] = 1;  // it is none of those that they meet
  for (uint32_t place = 0; place < resource.group; ++place) {
    const Flow& flow = flows_[members_[number][place].flow];
    group.least_cap = std::min(group.least_cap, flow.cap);
    for (const UseAt& use : flow.uses) {
      if (resources_[use.resource].is_led) continue;
      *end = use.resource;
      end += static_cast<int>(asked_[use.resource] == 0);
      asked_[use.resource] += use.share;
    }
  }
  asked_[number] = 0;
  group.met.clear();
  for (const uint32_t* met = seen_.data(); met != end; ++met)
    group.met.push_back({*met, std::exchange(asked_[*met], 0)});
}

// Those who have more than that rate, but are not of the group, nor of the one that rises.
void MaxMin::find_above(uint32_t number, double rate, uint32_t riser) {
  above_.clear();
  Resource& here = resources_[number];
  if (!may_have_more(here, rate)) return;
  const std::vector<Member>& members = members_[number];
  const double limit = rate * (1 + near_enough);
  double most = 0;
  if (seen_.size() < members.size()) seen_.resize(members.size());
  uint32_t* end = seen_.data();
  for (uint32_t place = here.group; place < members.size(); ++place) {
    const double its = rates_[members[place].flow].rate;
    most = std::max(most, its);
    *end = place;
    end += static_cast<int>(its > limit);
  }
  here.others_most = no_less(most);
  for (const uint32_t* place = seen_.data(); place != end; ++place) {
    const Member& member = members[*place];
    const FlowAtRate& it = rates_[member.flow];
    if (!it.is_opened && it.bottleneck != riser)
      above_.push_back({it.rate, member.flow, share_of(member)});
  }
}

// At which those who ask use up the room, together with those who would have more, who are found.
double MaxMin::level_of(uint32_t number, double room, double asked, uint32_t riser) {
  const double least = asked > 0 ? std::max(0.0, room / asked) : level_;
  find_above(number, least, riser);
  return above_.empty() ? least : level_with_above(room, asked);
}

// At first of all who might have more. Without those who would not, the level is higher, so that
// there may be more to take out.
double MaxMin::level_with_above(double room, double asked) {
  Asking above;
  for (const Above& it : above_) above.add(it);
  while (true) {
    const double level = std::max(0.0, (room + above.room) / (asked + above.asked));
    std::size_t count = 0;
    above = {};
    for (const Above& it : above_) {
      if (!is_above(it.rate, level)) continue;
      above_[count++] = it;
      above.add(it);
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
  // Those above give it, if that is enough. They are what the sweep will take it from.
  taken_from_[met.resource] = 0;
  find_above(met.resource, most, riser);
  Asking above;
  for (const Above& it : above_) above.add(it);
  if (most * (asked + above.asked) > room + above.room)
    return std::min(most, level_of(met.resource, room, asked, riser));
  taken_from_[met.resource] = level_with_above(after, 0) * (1 + near_enough / 8);
  return most;
}

// All of a group get another rate, which others feel: who does is collected without branches, which
// would often be guessed wrong.
void MaxMin::move_group(uint32_t number, double rate) {
  Resource& here = resources_[number];
  const double more = rate - std::exchange(here.group_rate, rate);
  if (here.group == 0 || more == 0) return;
  const Member* const members = members_[number].data();
  for (uint32_t place = 0; place < here.group; ++place) {
    rates_[members[place].flow].rate = rate;
    note(members[place].flow);
  }
  here.room -= more * here.group_asked;
  ++changes_;
  Resource* const resources = resources_.data();
  const Met** end = felt_.data();
  for (const Met& met : group_of(number).met) {
    Resource& resource = resources[met.resource];
    let_have(resource, rate);
    resource.room -= more * met.asked;
    *end = &met;
    end += static_cast<int>(resource.group > 0) | static_cast<int>(resource.room < 0);
  }
  for (const Met* const* at = felt_.data(); at != end; ++at) {
    const uint32_t met = (*at)->resource;
    const Resource& resource = resources[met];
    if (resource.group > 0 || resource.open > 0)
      come_up(met);
    else if (more > 0 && is_much(resource, resource.room))
      come_up_at(met, std::exchange(taken_from_[met], 0));
  }
}

// Those whom find_above() has found are of the group from now on, and have its rate.
void MaxMin::move_above(uint32_t number, double rate) {
  for (const Above& above : above_) {
    leave_group(above.flow);
    join_group(above.flow, number);
    note(above.flow);
    const double less = std::exchange(rates_[above.flow].rate, rate) - rate;
    ++changes_;
    for (const UseAt& use : flows_[above.flow].uses) {
      Resource& resource = resources_[use.resource];
      if (resource.is_led) continue;
      resource.room += less * use.share;
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

// How far a group can rise, no further than `most`, and which other resource does not let it have
// that. Only those where there might be too little are looked at.
MaxMin::Rise MaxMin::find_rise(uint32_t number, double most) {
  const double old = resources_[number].group_rate;
  const double more = most - old;
  const Resource* const resources = resources_.data();
  const Met** end = felt_.data();
  for (const Met& met : group_of(number).met) {
    const Resource& resource = resources[met.resource];
    const bool has_less = (resource.group > 0) & (resource.group_rate < most);
    *end = &met;
    end += static_cast<int>((resource.room < more * met.asked) | has_less | (resource.open > 0));
  }
  Rise found{none, most};
  for (const Met* const* at = felt_.data(); at != end; ++at) {
    const double limited = limit(**at, number, old, found.rate);
    if (is_above(found.rate, limited)) found = {(*at)->resource, limited};
  }
  return found;
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
  const auto [limit_at, rate] = find_rise(number, std::min(all, group.least_cap));
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
  // Those who have more give the group more than it has.
  if (here.group > 0 && is_above(rate, here.group_rate)) {
    if (is_above(here.group_rate, level_)) return come_up_at(number, here.group_rate);
    return lift(number);
  }
  if (is_above(rate, level_)) return come_up_at(number, rate);
  if (here.group == 0 && above_.empty()) return fix_open(number, rate);
  if (!may_move(number)) return open_group(number);
  fix_open(number, rate);
  move_group(number, rate);
  move_above(number, rate);
  come_up(number);
}

}  // namespace sgdsim
