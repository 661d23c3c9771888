// Operations, processors and messages of ranks.
#include "sim/play/ranks_in_time.h"

#include <algorithm>
#include <cmath>

#include "sim/core/error.h"

namespace sgdsim {
namespace {

bool buffers(const Replay& replay) {
  const Unexpected usual = replay.network == nullptr ? Unexpected::buffered : Unexpected::asked;
  return replay.unexpected.value_or(usual) == Unexpected::buffered;
}

}  // namespace

RanksInTime::RanksInTime(const ActorClock& clock, CallsInTime& calls, const Replay& replay)
    : clock_(clock),
      calls_(calls),
      replay_(replay),
      schedule_(*replay.schedule),
      costs_(replay.costs),
      buffers_(buffers(replay)),
      legs_(costs_, replay.network, clock.alpha_of_legs(replay.alpha)),
      processors_(schedule_.processors()),
      first_cards_(2 * std::size_t{schedule_.ranks()}),
      arrived_(schedule_.ranks()),
      asked_(schedule_.ranks()),
      left_(schedule_.ranks()),
      traffic_of_(schedule_.programs()),
      of_group_(schedule_.groups()),
      quiet_groups_(replay.rings == nullptr ? 0 : schedule_.groups()),
      shares_(schedule_.ranks()) {
  waits_.reserve(schedule_.operations().size());
  for (const RankOperation& operation : schedule_.operations()) waits_.push_back(operation.waits);
  result_.ends.resize(schedule_.ranks());
  if (!replay.records) return;
  result_.began.assign(waits_.size(), Time::last());
  result_.ended.assign(waits_.size(), Time::last());
}

void RanksInTime::begin() {
  for (uint32_t i = 0; i < waits_.size(); ++i) {
    ++left_[schedule_.rank_of(i)];
    if (waits_[i] > 0) continue;
    const Time start = replay_.starts.empty() ? Time() : replay_.starts[schedule_.rank_of(i)];
    if (start == Time())
      become_ready(i, start);
    else
      plan(starts, i, start);
  }
}

Replayed RanksInTime::take_result() {
  for (uint32_t rank = 0; rank < schedule_.ranks(); ++rank)
    result_.shares.push_back(shares_.of(rank));
  return std::move(result_);
}

void RanksInTime::happen(const Event& event, Time now) {
  const uint32_t subject = event.subject();
  switch (static_cast<Kind>(event.kind_of_actor())) {
    case ended:
      return end(subject, now);
    case look:
      return look_at(subject, now);
    case comes:
      return take(subject, now);
    case announced:
      return announce(subject, now);
    case answered:
      return send_announced(subject, now);
    case handed:
      return hand_over(subject, now);
    case starts:
      return become_ready(subject, now);
    case goes_around:
      return end_quietly(subject, now);
  }
}

// A sender is free, or the last byte is there.
void RanksInTime::hear(const Carrier::Report& report, Time now) {
  Sent& what = sent_[report.message];
  if (report.news == Carrier::News::sender_free)
    return plan(ended, what.send, std::max(now, what.processor_free));
  what.has_arrived = true;
  --on_the_way_count_;
  result_.least_delivered = std::min(result_.least_delivered, report.delivered);
  if (replay_.rings != nullptr) leave_rings(what.send);
  take(what.message, now);
}

void RanksInTime::release(uint32_t place, bool at_start, Time now) {
  for (const RankSchedule::Follower& follower : schedule_.followers_of(place))
    if (follower.at_start == at_start && --waits_[follower.operation] == 0)
      become_ready(follower.operation, now);
}

void RanksInTime::become_ready(uint32_t place, Time now) {
  const RankOperation& one = operation(place);
  Processor& processor = processors_[one.processor];
  switch (one.verb) {
    case RankVerb::compute:
      processor.work.push({now, place});
      return look_later(one.processor, now);
    case RankVerb::send:
      processor.sends.push({now, place});
      return look_later(one.processor, now);
    case RankVerb::receive:
      return ask(place, now);
    case RankVerb::call:
      return enter_call(place, now);
    case RankVerb::until:
      return plan(ended, place, now + Duration::ps(one.amount));
  }
}

void RanksInTime::end(uint32_t place, Time now) {
  waits_[place] = over;
  ++result_.operations;
  if (replay_.records) result_.ended[place] = now;
  const uint32_t rank = schedule_.rank_of(place);
  shares_.end(rank, operation(place).verb, now);
  --left_[rank];
  result_.ends[rank] = std::max(result_.ends[rank], now);
  if (replay_.rings != nullptr && operation(place).verb == RankVerb::call)
    leave_ring(operation(place).call());
  release(place, false, now);
}

void RanksInTime::look_later(uint32_t number, Time when) {
  Processor& processor = processors_[number];
  when = std::max(when, processor.free);
  if (processor.looks <= when) return;
  processor.looks = when;
  plan(look, number, when);
}

// Begins what can begin now, and looks again when the next thing can.
void RanksInTime::look_at(uint32_t number, Time now) {
  Processor& processor = processors_[number];
  if (processor.looks != now) return;
  processor.looks = Time::last();
  while (processor.free <= now) {
    Time sends_from = Time::last();
    if (!processor.sends.empty()) {
      const Task& send = processor.sends.top();
      const RankOperation& one = operation(send.operation);
      sends_from = std::max(send.ready, card(schedule_.rank_of(send.operation), one.card, true));
    }
    const Time works_from = processor.work.empty() ? Time::last() : processor.work.top().ready;
    const Time from = std::min(sends_from, works_from);
    if (from == Time::last()) return;
    if (from > now) return look_later(number, from);
    const bool sends =
        sends_from <= now && (works_from > now || processor.work.top() > processor.sends.top());
    Tasks& tasks = sends ? processor.sends : processor.work;
    const uint32_t place = tasks.top().operation;
    tasks.pop();
    begin(place, processor, now);
  }
  if (!processor.work.empty() || !processor.sends.empty()) look_later(number, processor.free);
}

void RanksInTime::begin(uint32_t place, Processor& processor, Time now) {
  const RankOperation& one = operation(place);
  if (one.verb != RankVerb::receive) note_begin(place, now);
  switch (one.verb) {
    case RankVerb::compute:
      processor.free = now + Duration::ps(one.amount);
      break;
    case RankVerb::send:
      processor.free = now + legs_.overhead(one.amount);
      release(place, true, now);
      if (send(place, processor.free, now)) plan(ended, place, std::max(processor.free, leaves_));
      return;  // else it ends when its receiver is there
    case RankVerb::receive:
      processor.free = now + legs_.overhead(one.amount);
      break;
    case RankVerb::call:
    case RankVerb::until:
      break;  // take no processor
  }
  if (one.verb == RankVerb::compute) release(place, true, now);
  plan(ended, place, processor.free);
}

// Whether it goes at once; then the sender is done with it when `leaves_` has come.
bool RanksInTime::send(uint32_t place, Time processor_free, Time now) {
  const RankOperation& one = operation(place);
  const uint32_t rank = schedule_.rank_of(place);
  const Leg leg = legs_.of(rank, one.peer, one.amount);
  const bool is_eager = one.amount <= costs_.eager_B && leg.agreed == Duration();
  const uint32_t senders =
      replay_.alike == nullptr ? 1 : replay_.alike->stand_ins.size_of(static_cast<int>(rank));
  result_.messages += senders;
  result_.wire_B += static_cast<double>(one.amount) * senders;
  uint32_t number = 0;
  if (unused_.empty()) {
    number = static_cast<uint32_t>(messages_.size());
    messages_.emplace_back();
  } else {
    number = unused_.back();
    unused_.pop_back();
  }
  messages_[number] = {.send = place, .is_eager = is_eager};
  if (is_eager && meets_ports(rank, one.peer)) {
    if (replay_.carrier && costs_.overhead > Duration()) {
      plan(handed, number, now + costs_.overhead);
      return false;
    }
    send_over_ports(number, leg, processor_free, now);
    return false;
  }
  if (is_eager) {
    card(rank, one.card, true) = now + leg.out_busy;
    leaves_ = legs_.on_network() ? now + leg.out_busy : now;
    plan(comes, number, now + leg.flight);
  } else {
    plan(announced, number, now + costs_.overhead + legs_.flight_of_word(rank, one.peer));
  }
  return is_eager;
}

// Packets do not look at the leg of a message: they begin when the processor has done its part.
void RanksInTime::hand_over(uint32_t number, Time now) {
  const Time begun = now - costs_.overhead;
  const RankOperation& send = operation(messages_[number].send);
  send_over_ports(number, {}, begun + legs_.overhead(send.amount), now);
}

void RanksInTime::send_over_ports(uint32_t number, const Leg& leg, Time processor_free, Time now) {
  const uint32_t place = messages_[number].send;
  const RankOperation& one = operation(place);
  if (replay_.rings != nullptr) meet_rings(place, now);
  const uint32_t flow = clock_.send({.from = static_cast<int>(schedule_.rank_of(place)),
                                     .to = static_cast<int>(one.peer),
                                     .size_B = static_cast<double>(one.amount),
                                     .leg = leg,
                                     .connection = one.card},
                                    now);
  if (flow >= sent_.size()) sent_.resize(flow + 1);
  sent_[flow] = {number, place, processor_free, false};
  ++on_the_way_count_;
}

// The first byte is there.
void RanksInTime::take(uint32_t number, Time now) {
  if (messages_[number].receive != RankOperation::any) return receive(number, now);
  announce(number, now);
}

// It is there, or would like to come: for the receive that has asked first.
void RanksInTime::announce(uint32_t number, Time now) {
  Message& message = messages_[number];
  const RankOperation& send = operation(message.send);
  const uint32_t from = schedule_.rank_of(message.send);
  const uint32_t to = stand_in(send.peer);
  const auto asked = asked_.take(to, from, send.tag, true);
  if (!asked) {
    // The receive will say by which card; until then it is that of the sender's number.
    if (buffers_ && message.is_eager && !meets_ports(from, send.peer))
      message.taken = pass_card(send, from, send.card, now);
    return arrived_.add(to, from, send.tag, number);
  }
  message.receive = *asked;
  meet(number, now);
}

void RanksInTime::ask(uint32_t place, Time now) {
  const RankOperation& one = operation(place);
  note_begin(place, now);
  release(place, true, now);
  const uint32_t rank = schedule_.rank_of(place);
  const uint32_t from = stand_in(one.peer);
  const auto arrived = arrived_.take(rank, from, one.tag, false);
  if (!arrived) return asked_.add(rank, from, one.tag, place);
  messages_[*arrived].receive = place;
  meet(*arrived, now);
}

void RanksInTime::meet(uint32_t number, Time now) {
  const Message& message = messages_[number];
  if (operation(message.receive).amount != operation(message.send).amount && result_.unequal++ == 0)
    result_.unequal_send = message.send;
  if (message.is_eager) return receive(number, now);
  const RankOperation& send = operation(message.send);
  plan(answered, number, now + legs_.flight_of_word(send.peer, schedule_.rank_of(message.send)));
}

void RanksInTime::send_announced(uint32_t number, Time now) {
  const Message& message = messages_[number];
  const RankOperation& send = operation(message.send);
  const uint32_t rank = schedule_.rank_of(message.send);
  const Leg leg = legs_.of(rank, send.peer, send.amount).without_agreement();
  if (meets_ports(rank, send.peer)) {
    Leg bytes = leg;
    bytes.flight = leg.flight - costs_.overhead;  // the processor has done its part
    return send_over_ports(number, bytes, now, now);
  }
  Time& out = card(rank, send.card, true);
  const Time leaves = std::max(out, now);
  out = leaves + leg.out_busy;
  plan(ended, message.send, leaves + leg.transit);
  plan(comes, number, leaves + (leg.flight - costs_.overhead));
}

// A card of the receiver takes it, when it is free.
RanksInTime::BytesThere RanksInTime::pass_card(const RankOperation& send, uint32_t from,
                                               uint16_t number, Time now) {
  const Leg leg = legs_.of(from, send.peer, send.amount).without_agreement();
  Time& in = card(send.peer, number, false);
  const Time first = std::max(in, now);
  in = first + leg.in_busy;
  return {first, first + leg.transit};
}

// It is there and asked for. The processor is needed from when it need not wait for bytes.
void RanksInTime::receive(uint32_t number, Time now) {
  const Message& message = messages_[number];
  const RankOperation& send = operation(message.send);
  const RankOperation& one = operation(message.receive);
  const uint32_t sender = schedule_.rank_of(message.send);
  BytesThere there{now, now};
  if (message.taken)
    there = *message.taken;
  else if (!meets_ports(sender, send.peer))
    there = pass_card(send, sender, one.card, now);
  const Duration kept = legs_.overhead_of_bytes(one.amount);
  const Time from = std::max({now, there.first, there.last - kept});
  processors_[one.processor].work.push({from, message.receive});
  look_later(one.processor, from);
  unused_.push_back(number);
}

void RanksInTime::name_what_waits(const std::vector<Stranded>& stranded) {
  for (const Sent& one : sent_)
    if (!one.has_arrived) result_.stranded[one.send] = Stranding::stopped;
  for (const Stranded& one : stranded) {
    const bool is_own = one.message < sent_.size() && !sent_[one.message].has_arrived;
    if (is_own)
      result_.stranded[sent_[one.message].send] = one.why;
    else if (!one.what.is_of_others)
      result_.stranded_in_calls.push_back(one);
  }
  const bool all_are_there =
      std::any_of(calls_under_way_.begin(), calls_under_way_.end(),
                  [](const CallUnderWay& call) { return call.left > 0 && call.missing == 0; });
  if (stranded.empty() && (!result_.stranded.empty() || all_are_there))
    throw InputError("", never_ends);
  for (uint32_t i = 0; i < waits_.size(); ++i) {
    if (has_ended(i)) continue;
    if (waits_[i] > 0)
      ++result_.not_begun;
    else if (!result_.stranded.contains(i))
      result_.waiting.push_back(i);
  }
  arrived_.for_each([&](uint32_t number) {
    if (messages_[number].is_eager) result_.not_received.push_back(messages_[number].send);
  });
  std::sort(result_.not_received.begin(), result_.not_received.end());
}

}  // namespace sgdsim
