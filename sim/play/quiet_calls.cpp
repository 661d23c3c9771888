// Calls of rings that have their wires to themselves: at once, when all members are there, from
// when something comes on their wires on message by message, and at once again when that has gone.
#include <algorithm>
#include <cassert>
#include <cmath>
#include <utility>

#include "sim/play/ranks_in_time.h"

namespace sgdsim {
namespace {

// A message costs some fifty times less at once; but how far a ring has come is found from its
// messages until then each time.
constexpr int most_returns = 10;

}  // namespace

// False if the call goes message by message.
bool RanksInTime::enter_quietly(const RankCall& what, uint32_t place, Time now) {
  if (!replay_.rings->may_be_quiet(what.group)) return false;
  QuietGroup& group = quiet_groups_[what.group];
  group.in_calls.resize(schedule_.group(what.group).size());
  const bool is_in_another = group.in_calls[what.member]++ > 0;
  if (is_in_another) go_on_loudly(what.group, now);
  QuietCall* call = quiet_call(what);
  if (call == nullptr) {
    const std::vector<uint32_t>& others = of_group_[what.group];
    const bool is_loud = is_in_another || group.sends > 0 ||
                         std::any_of(others.begin(), others.end(), [&](uint32_t one) {
                           return calls_under_way_[one].number == what.number;
                         });
    if (is_loud) return false;
    const std::size_t members = group.in_calls.size();
    call = &group.calls.emplace_back(QuietCall{what.number, what.program, members, members,
                                               std::vector<uint32_t>(members, RankOperation::any),
                                               std::vector<Time>(members, Time::last())});
    count_messages(what, 1);
  }
  call->operations[what.member] = place;
  call->entered[what.member] = now;
  if (--call->missing == 0) go_around(*call, what.group);
  return true;
}

// Null: it is not quiet.
RanksInTime::QuietCall* RanksInTime::quiet_call(const RankCall& what) {
  for (QuietCall& call : quiet_groups_[what.group].calls)
    if (call.number == what.number) return &call;
  return nullptr;
}

void RanksInTime::go_around(QuietCall& call, uint32_t group) {
  const Program& program = schedule_.program(call.program);
  RingPlay how = replay_.rings->ring_play(group, call.program);
  if (call.since) {
    RingMoment end = ring_moment(program, how, call.entered, Time::last(), &*call.since);
    for (const RingMoment::Member& member : end.members) call.ends.push_back(member.clock);
    call.sent_B = std::move(end.sent_B);
    call.sent = end.sent - call.since->sent;
  } else {
    call.ends = call.entered;
    call.sent_B.resize(call.ends.size());
    call.sent = static_cast<double>(traffic_of_[call.program].messages);
    how.sent_B = &call.sent_B;
    play_ring(program, how, call.ends);
  }
  for (std::size_t member = 0; member < call.ends.size(); ++member)
    if (!has_ended(call.operations[member]))
      plan(goes_around, call.operations[member], call.ends[member]);
}

// What was planned before a call went on message by message does not count.
void RanksInTime::end_quietly(uint32_t place, Time now) {
  const RankCall what = operation(place).call();
  QuietCall* call = quiet_call(what);
  if (call == nullptr || call->missing > 0 || call->ends[what.member] != now || has_ended(place))
    return;
  if (--call->left == 0) {
    replay_.rings->carry(what.group, call->sent_B);
    result_.in_rings += static_cast<uint64_t>(call->sent);
    std::vector<QuietCall>& calls = quiet_groups_[what.group].calls;
    calls.erase(calls.begin() + (call - calls.data()));
  }
  end(place, now);
}

void RanksInTime::leave_ring(const RankCall& what) {
  std::vector<uint32_t>& in_calls = quiet_groups_[what.group].in_calls;
  if (!in_calls.empty()) --in_calls[what.member];
}

// All calls of a group that are under way.
void RanksInTime::go_on_loudly(uint32_t group, Time now) {
  std::vector<QuietCall>& calls = quiet_groups_[group].calls;
  std::erase_if(calls, [&](QuietCall& call) {
    const bool is_over =
        call.missing == 0 && *std::max_element(call.ends.begin(), call.ends.end()) <= now;
    if (!is_over) make_loud(call, group, now);
    return !is_over;
  });
}

void RanksInTime::make_loud(QuietCall& call, uint32_t group, Time now) {
  const Program& program = schedule_.program(call.program);
  const std::vector<int>& members = schedule_.group(group);
  const RingMoment moment = ring_moment(program, replay_.rings->ring_play(group, call.program),
                                        call.entered, now, call.since ? &*call.since : nullptr);
  const uint32_t number = calls_.add_begun(program, *replay_.network, members,
                                           schedule_.folds(call.program), moment, now);
  CallUnderWay& it = under_way(number, {group, call.number, call.program, 0}, members.size());
  it.missing = static_cast<uint32_t>(call.missing);
  it.returns = call.returns;
  it.entered = call.operations;
  for (std::size_t member = 0; member < members.size(); ++member) {
    if (moment.members[member].is != RingMoment::Member::Is::done) continue;
    --it.left;
    if (!has_ended(call.operations[member])) plan(ended, call.operations[member], now);
  }
  replay_.rings->carry(group, moment.sent_B);
  result_.in_rings += static_cast<uint64_t>(moment.sent - (call.since ? call.since->sent : 0));
  one_by_one_ += static_cast<double>(traffic_of_[call.program].messages) - moment.sent;
  if (one_by_one_ > replay_.most_messages) throw TooManyMessages{};
}

// A send comes on the wires of rings, or has left them.
void RanksInTime::meet_rings(uint32_t send, Time now) {
  for (const uint32_t group :
       replay_.rings->met_by(schedule_.rank_of(send), operation(send).peer)) {
    ++quiet_groups_[group].sends;
    go_on_loudly(group, now);
  }
}

void RanksInTime::leave_rings(uint32_t send) {
  for (const uint32_t group : replay_.rings->met_by(schedule_.rank_of(send), operation(send).peer))
    if (--quiet_groups_[group].sends == 0 && of_group_[group].size() == 1)
      left_alone_.push_back(group);
}

// Rings that are not met any more.
bool RanksInTime::moment_over(Time now) {
  if (left_alone_.empty()) return false;
  clock_.carrier()->settle(now);  // what is left of messages, at which rates
  for (const uint32_t group : left_alone_) go_on_quietly(group, now);
  left_alone_.clear();
  return false;
}

void RanksInTime::go_on_quietly(uint32_t group, Time now) {
  if (quiet_groups_[group].sends > 0 || of_group_[group].size() != 1) return;
  const uint32_t number = of_group_[group].front();
  CallUnderWay& loud = calls_under_way_[number];
  if (loud.returns == most_returns) return;
  std::optional<RingMoment> moment = calls_.take_back(number, now);
  if (!moment) return;
  QuietCall& call = quiet_groups_[group].calls.emplace_back();
  call.number = loud.number;
  call.program = loud.program;
  call.missing = loud.missing;
  call.left = std::exchange(loud.left, 0);
  call.operations = loud.entered;
  for (const uint32_t operation : call.operations)
    call.entered.push_back(operation == RankOperation::any ? Time::last() : now);
  call.since = std::move(moment);
  call.returns = loud.returns + 1;
  one_by_one_ -= static_cast<double>(traffic_of_[call.program].messages) - call.since->sent;
  of_group_[group].clear();
  if (call.missing == 0) go_around(call, group);
}

}  // namespace sgdsim
