// Collectives that ranks enter, message by message.
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
  if (replay_.rings != nullptr && enter_quietly(what, place, now)) return;
  const uint32_t call = call_under_way(what);
  CallUnderWay& under_way = calls_under_way_[call];
  under_way.entered[what.member] = place;
  --under_way.missing;
  calls_.enter(call, static_cast<int>(what.member), Duration(), now);
}

// Its number among the calls in time; it begins with the first member.
uint32_t RanksInTime::call_under_way(const RankCall& what) {
  const uint32_t group =
      replay_.alike == nullptr ? what.group : replay_.alike->class_of_group[what.group];
  for (const uint32_t call : of_group_[group])
    if (calls_under_way_[call].number == what.number) return call;
  return begin_call(what);
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
  under_way(call, what, seats);
  return call;
}

RanksInTime::CallUnderWay& RanksInTime::under_way(uint32_t call, const RankCall& what,
                                                  std::size_t seats) {
  if (call >= calls_under_way_.size()) calls_under_way_.resize(call + 1);
  CallUnderWay& it = calls_under_way_[call];
  it.group = replay_.alike == nullptr ? what.group : replay_.alike->class_of_group[what.group];
  it.number = what.number;
  it.left = it.missing = static_cast<uint32_t>(seats);
  it.entered.assign(seats, RankOperation::any);
  it.program = what.program;
  it.returns = 0;
  of_group_[it.group].push_back(call);
  return it;
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
