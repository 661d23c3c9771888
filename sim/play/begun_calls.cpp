// Collectives that go on message by message from what has happened in them: rings that were played
// at once until something came on their wires.
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
  CallInPlay& call = calls_[cursor.call];
  const bool is_over = member.stage < 0;
  cursor.stage = is_over ? static_cast<int>(call.program->stages.size()) : member.stage;
  cursor.round = member.round;
  if (member.is == Is::done) {
    --call.left;
  } else if (member.is == Is::before) {
    plan(on, c, member.clock);
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
  note_sent(clock_.send_begun(parcel, message.begins, now), {.fold = leg.fold,
                                                             .from = static_cast<uint32_t>(c),
                                                             .to = static_cast<uint32_t>(to.cursor),
                                                             .edge = -1,
                                                             .stage = message.stage,
                                                             .round = message.round});
}

}  // namespace sgdsim
