// Collectives that ranks enter: message by message, or at once where a ring is quiet.
#include <algorithm>
#include <cassert>
#include <cmath>

#include "sim/play/ranks_in_time.h"

namespace sgdsim {

void RanksInTime::enter_call(uint32_t place, Time now) {
  note_begin(place, now);
  release(place, true, now);
  RankCall what = operation(place).call();
  if (replay_.alike != nullptr) {
    const AlikeRanks& alike = *replay_.alike;
    const int rank = schedule_.group(what.group)[what.member];
    what.member = alike.classes[alike.class_of_group[what.group]].seat(rank);
  }
  if (replay_.rings != nullptr && replay_.rings->may_be_quiet(what.group)) {
    enter_ring(what);
    if (enter_quietly(what, place, now)) return;
  }
  const uint32_t call = call_under_way(what);
  CallUnderWay& under_way = calls_under_way_[call];
  under_way.entered[what.member] = place;
  --under_way.missing;
  calls_.enter(call, static_cast<int>(what.member), Duration(), now);
}

// A member is in one call of its ring at a time.
void RanksInTime::enter_ring(const RankCall& what) {
  std::vector<bool>& is_in_ring = is_in_ring_[what.group];
  is_in_ring.resize(schedule_.group(what.group).size());
  if (is_in_ring[what.member]) replay_.rings->meets_itself(what.group);
  is_in_ring[what.member] = true;
}

// False if the call goes message by message: it has begun so, or the ring is not quiet yet.
bool RanksInTime::enter_quietly(const RankCall& what, uint32_t place, Time now) {
  const std::vector<uint32_t>& others = of_group_[what.group];
  if (std::any_of(others.begin(), others.end(),
                  [&](uint32_t call) { return calls_under_way_[call].number == what.number; }))
    return false;
  const auto call = quiet_call(what, now);
  if (call == quiet_of_group_[what.group].end()) return false;
  call->entered[what.member] = place;
  call->clocks[what.member] = now;
  if (--call->missing > 0) return true;
  replay_.rings->play(what.group, what.number, what.program, call->clocks);
  for (std::size_t member = 0; member < call->entered.size(); ++member) {
    assert(call->clocks[member] >= now);  // what each has went around
    plan(ended, call->entered[member], call->clocks[member]);
  }
  quiet_of_group_[what.group].erase(call);
  return true;
}

// The end of the list: it does not go so.
std::vector<RanksInTime::QuietCall>::iterator RanksInTime::quiet_call(const RankCall& what,
                                                                      Time now) {
  std::vector<QuietCall>& calls = quiet_of_group_[what.group];
  const auto known = std::find_if(calls.begin(), calls.end(),
                                  [&](const QuietCall& one) { return one.number == what.number; });
  if (known != calls.end() || !replay_.rings->begins(what.group, what.number, now)) return known;
  const uint64_t before = result_.messages;
  count_messages(what, 1);
  result_.in_rings += result_.messages - before;
  const std::size_t members = schedule_.group(what.group).size();
  return calls.insert(calls.end(), {what.number, static_cast<uint32_t>(members),
                                    std::vector<uint32_t>(members), std::vector<Time>(members)});
}

// Its number among the calls in time; it begins with the first member.
uint32_t RanksInTime::call_under_way(const RankCall& what) {
  const uint32_t group =
      replay_.alike == nullptr ? what.group : replay_.alike->class_of_group[what.group];
  for (const uint32_t call : of_group_[group])
    if (calls_under_way_[call].number == what.number) return call;
  const uint32_t call = begin_call(what);
  calls_under_way_[call].group = group;
  of_group_[group].push_back(call);
  return call;
}

uint32_t RanksInTime::begin_call(const RankCall& what) {
  const std::vector<int>& members = schedule_.group(what.group);
  const Program& program = schedule_.program(what.program);
  const bool folds = schedule_.folds(what.program);
  double groups = 1;
  uint32_t call = 0;
  std::size_t seats = members.size();
  if (replay_.alike == nullptr) {
    call = calls_.add_among(program, *replay_.network, members, folds);
  } else {
    const uint32_t number = replay_.alike->class_of_group[what.group];
    groups = replay_.alike->groups[number];
    seats = replay_.alike->classes[number].seats.size();
    call = calls_.add_seats(program, *replay_.network, replay_.alike->classes[number], folds);
  }
  count_messages(what, groups);
  one_by_one_ += static_cast<double>(traffic_of_[what.program].messages) *
                 (static_cast<double>(seats) / static_cast<double>(members.size()));
  if (one_by_one_ > replay_.most_messages) throw TooManyMessages{};
  if (call >= calls_under_way_.size()) calls_under_way_.resize(call + 1);
  CallUnderWay& under_way = calls_under_way_[call];
  under_way.number = what.number;
  under_way.left = under_way.missing = static_cast<uint32_t>(seats);
  under_way.entered.assign(seats, RankOperation::any);
  return call;
}

void RanksInTime::count_messages(const RankCall& what, double groups) {
  Traffic& traffic = traffic_of_[what.program];
  if (traffic.messages == 0)
    traffic = traffic_of(schedule_.program(what.program),
                         static_cast<int>(schedule_.group(what.group).size()));
  result_.messages +=
      static_cast<uint64_t>(std::llround(static_cast<double>(traffic.messages) * groups));
  result_.wire_B += traffic.wire_B * groups;
}

void RanksInTime::leave_call(uint32_t call) {
  if (--calls_under_way_[call].left > 0) return;
  std::erase(of_group_[calls_under_way_[call].group], call);
}

}  // namespace sgdsim
