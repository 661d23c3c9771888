// Collectives that go on message by message from what has happened in them, rings that were played
// at once until something came on their wires; and back, when that has gone.
#include <algorithm>
#include <tuple>

#include "sim/play/calls_in_time.h"

namespace sgdsim {

uint32_t CallsInTime::add_begun(const Program& program, const Network& network,
                                const std::vector<int>& members, bool folds,
                                const RingMoment& moment, Time now) {
  const uint32_t call = add_among(program, network, members, folds);
  const std::size_t first = calls_[call].first_cursor;
  for (std::size_t member = 0; member < members.size(); ++member)
    stand_at(first + member, moment.members[member]);
  for (const RingMoment::Early& one : moment.early)
    keep(cursors_[first + one.to], {one.stage, one.round, one.fold});
  for (const RingMoment::Message& message : moment.messages) send_begun(call, message, now);
  return call;
}

void CallsInTime::stand_at(std::size_t c, const RingMoment::Member& member) {
  using Is = RingMoment::Member::Is;
  if (member.is == Is::away) return;
  Cursor& cursor = cursors_[c];
  cursor.is_here = true;
  CallInPlay& call = calls_[cursor.call];
  const bool is_over = member.stage < 0;
  cursor.stage = is_over ? static_cast<int>(call.program->stages.size()) : member.stage;
  cursor.round = member.round;
  if (member.is == Is::done) {
    --call.left;
  } else if (member.is == Is::before) {
    go_on_at(c, member.clock);
  } else {
    cursor.to_send = member.has_sent ? 0 : 1;
    cursor.to_get = member.has_got ? 0 : 1;
    cursor.fold = member.fold;
    cursor.busy_until = member.clock;
  }
}

void CallsInTime::send_begun(uint32_t call, const RingMoment::Message& message, Time now) {
  const CallInPlay& it = calls_[call];
  const std::size_t c = it.first_cursor + message.from;
  const auto& phase = std::get<Phase>(it.program->stages[place(message.stage)]);
  const Cursor& sender = cursors_[c];
  const Colleague from = colleague(c, sender.worker);
  const Colleague to = colleague(c, static_cast<int>(message.to));
  const int v = phase.team.relative(sender.worker);
  const double size_B = phase.sent_B(message.round, v, phase.team.lane(sender.worker));
  const Leg leg = leg_of(sender, phase, message.round, from.on_network, to.on_network, size_B);
  const Parcel parcel = parcel_of(it, phase, from, to, size_B, leg);
  note_sent(clock_.send_begun(parcel, message.how, now), {.fold = message.fold,
                                                          .from = static_cast<uint32_t>(c),
                                                          .to = static_cast<uint32_t>(to.cursor),
                                                          .edge = -1,
                                                          .stage = message.stage,
                                                          .round = message.round});
}

std::optional<RingMoment> CallsInTime::take_back(uint32_t call, Time now) {
  const CallInPlay& it = calls_[call];
  RingMoment moment;
  moment.at = now;
  if (!find_messages(it, moment, now)) return std::nullopt;
  for (std::size_t member = 0; member < it.workers; ++member) {
    const std::size_t c = it.first_cursor + member;
    moment.members.push_back(member_at(c, *it.program, now));
    moment.sent += static_cast<double>(sent_by(c));
    take_early(c, member, moment);
    ++cursors_[c].version;
  }
  for (uint32_t message = 0; message < on_the_way_.size(); ++message)
    if (is_of(it, on_the_way_[message])) {
      on_the_way_[message].to = no_number;
      carrier_->forget(message);
    }
  forget(call);
  return moment;
}

// Those on their way, of each pair in the order of their rounds. False: one shares its way.
bool CallsInTime::find_messages(const CallInPlay& call, RingMoment& moment, Time now) const {
  for (uint32_t message = 0; message < on_the_way_.size(); ++message) {
    const OnTheWay& one = on_the_way_[message];
    if (!is_of(call, one)) continue;
    const std::optional<Carrier::Underway> how = carrier_->underway(message, now);
    if (!how) return false;
    moment.messages.push_back({one.from - call.first_cursor, one.to - call.first_cursor, one.stage,
                               one.round, one.fold, *how});
  }
  std::sort(moment.messages.begin(), moment.messages.end(), [](const auto& a, const auto& b) {
    return std::tie(a.stage, a.round) < std::tie(b.stage, b.round);
  });
  return true;
}

// Messages that have left.
int64_t CallsInTime::sent_by(std::size_t c) const {
  const Cursor& cursor = cursors_[c];
  if (!cursor.is_here) return 0;
  int64_t sent = cursor.round;
  if (cursor.to_get > 0 && cursor.to_send == 0) ++sent;  // in this round
  for (int stage = 0; stage < cursor.stage; ++stage)
    if (const auto* phase = std::get_if<Phase>(&program(c).stages[place(stage)]))
      sent += phase->rounds;
  return sent;
}

// A member between two rounds is where it goes on.
RingMoment::Member CallsInTime::member_at(std::size_t c, const Program& program, Time now) const {
  using Is = RingMoment::Member::Is;
  const Cursor& cursor = cursors_[c];
  if (!cursor.is_here) return {};
  RingMoment::Member member{
      .is = Is::in_round, .stage = cursor.stage, .round = cursor.round, .clock = cursor.busy_until};
  if (cursor.to_send + cursor.to_get > 0) {
    member.has_sent = cursor.to_send == 0;
    member.has_got = cursor.to_get == 0;
    member.fold = cursor.fold;
    return member;
  }
  member.is = Is::before;
  const std::vector<Stage>& stages = program.stages;
  for (; place(member.stage) < stages.size(); ++member.stage, member.round = 0) {
    const Stage& stage = stages[place(member.stage)];
    if (const auto* launch = std::get_if<Launch>(&stage)) member.clock += launch->length;
    if (const auto* phase = std::get_if<Phase>(&stage); phase && member.round < phase->rounds)
      return member;
  }
  if (member.clock <= now) member.is = Is::done;
  member.stage = -1;
  return member;
}

void CallsInTime::take_early(std::size_t c, std::size_t member, RingMoment& moment) {
  Cursor& cursor = cursors_[c];
  for (uint32_t number = cursor.first_early; number != no_number;) {
    Early& one = early_[number];
    moment.early.push_back({member, one.stage, one.round, one.fold});
    const uint32_t next = one.next;
    one.next = std::exchange(unused_early_, number);
    number = next;
  }
  cursor.first_early = cursor.last_early = no_number;
}

}  // namespace sgdsim
