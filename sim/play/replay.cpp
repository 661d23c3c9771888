// All ranks are one actor of the clockwork.
#include "sim/play/replay.h"

#include <algorithm>
#include <map>
#include <memory>
#include <queue>

#include "sim/core/error.h"
#include "sim/net/flows.h"
#include "sim/net/packet_limit.h"
#include "sim/net/port_resources.h"
#include "sim/play/matching.h"
#include "sim/play/message_legs.h"

namespace sgdsim {
namespace {

class RankPlayer {
 public:
  explicit RankPlayer(const Replay& replay)
      : replay_(replay),
        schedule_(*replay.schedule),
        costs_(replay.costs),
        buffers_(replay.unexpected.value_or(replay.network == nullptr
                                                ? Unexpected::buffered
                                                : Unexpected::asked) == Unexpected::buffered),
        carrier_(make_carrier()),
        clock_(agenda_, carrier_.get(), replay.stopper),
        own_clock_(clock_, 1),
        traffic_({clock_, 2}, replay.network, replay.meanwhile),
        processors_(schedule_.processors()),
        first_cards_(2 * std::size_t{schedule_.ranks()}),
        arrived_(schedule_.ranks()),
        asked_(schedule_.ranks()) {
    legs_.emplace(costs_, replay.network, carrier_ ? carrier_->alpha_of_legs() : replay.alpha);
    waits_.reserve(schedule_.operations().size());
    for (const RankOperation& operation : schedule_.operations()) waits_.push_back(operation.waits);
    result_.ends.resize(schedule_.ranks());
    if (!replay.records) return;
    result_.began.assign(waits_.size(), Time::last());
    result_.ended.assign(waits_.size(), Time::last());
  }

  Replayed play() {
    try {
      play_all();
      name_what_waits(carrier_ ? carrier_->stranded() : std::vector<Stranded>());
    } catch (const LimitReached& limit) {
      result_.stopped_by = limit.what();
    } catch (const NetworkStuck& stuck) {
      result_.circle = stuck.circle;
      name_what_waits(stuck.stranded);
    }
    result_.until = clock_.now();
    result_.events = clock_.events();
    if (replay_.resources != nullptr) result_.carried_B = carrier_->carried_B(result_.until);
    return std::move(result_);
  }

  void happen(const Event& event, Time now) {
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
    }
  }

  // A sender is free, or the last byte is there.
  void hear(const Carrier::Report& report, Time now) {
    OnTheWay& what = on_the_way_[report.message];
    if (report.news == Carrier::News::sender_free)
      return plan(ended, what.send, std::max(now, what.processor_free));
    what.has_arrived = true;
    --on_the_way_count_;
    result_.least_delivered = std::min(result_.least_delivered, report.delivered);
    take(what.message, now);
  }

 private:
  void play_all() {
    if (carrier_ && carrier_->payload_B() > 0)
      check_packets(schedule_.packets(carrier_->payload_B()), "or shorter messages");
    traffic_.begin();
    for (uint32_t i = 0; i < waits_.size(); ++i)
      if (waits_[i] == 0) become_ready(i, Time());
    Clockwork clockwork(clock_, *this, traffic_);
    while (!is_over() && clockwork.step()) {
    }
  }

  enum Kind : uint8_t { ended, look, comes, announced, answered, handed };
  static constexpr uint32_t over = UINT32_MAX;  // what an operation that has ended waits for

  struct Task {
    Time ready;
    uint32_t operation = 0;
    bool operator>(const Task& other) const {
      return ready != other.ready ? ready > other.ready : operation > other.operation;
    }
  };
  using Tasks = std::priority_queue<Task, std::vector<Task>, std::greater<>>;
  struct Processor {
    Time free;
    Time looks = Time::last();  // the earliest look that is planned
    Tasks work;                 // computing and receiving
    Tasks sends;                // which need the card as well
  };
  // When the first and the last byte of a message are with the receiver.
  struct BytesThere {
    Time first;
    Time last;
  };
  struct Message {
    uint32_t send = 0;
    uint32_t receive = RankOperation::any;
    bool is_eager = true;
    std::optional<BytesThere> taken = {};  // by the receiver's card, before it was asked for
  };

  std::unique_ptr<Carrier> make_carrier() {
    if (!replay_.shares_ports && replay_.resources == nullptr) return nullptr;
    if (replay_.resources == nullptr) ports_.emplace(*replay_.network);
    Resources& resources = replay_.resources != nullptr ? *replay_.resources : *ports_;
    if (replay_.carrier) return replay_.carrier(resources, agenda_, nullptr);
    return std::make_unique<Flows>(
        resources, Flows::Options{.alpha = replay_.alpha, .send_buffer_B = replay_.send_buffer_B},
        agenda_);
  }
  // Others may go on.
  bool is_over() const {
    return replay_.meanwhile.any() && result_.operations == waits_.size() && on_the_way_count_ == 0;
  }

  const RankOperation& operation(uint32_t place) const { return schedule_.operations()[place]; }
  bool has_ended(uint32_t place) const { return waits_[place] == over; }
  void plan(Kind kind, uint32_t subject, Time when) { own_clock_.plan(kind, subject, when); }

  // Ports of cards: most ranks have one.
  Time& card(uint32_t rank, uint16_t number, bool out) {
    if (number == 0) return first_cards_[2 * std::size_t{rank} + (out ? 1 : 0)];
    return cards_[(uint64_t{rank} << 17U) | (uint64_t{number} << 1U) | (out ? 1U : 0U)];
  }
  // Packets do not look at the leg of a message: they begin when the processor has done its part.
  void hand_over(uint32_t number, Time now) {
    const uint32_t place = messages_[number].send;
    const Time begun = now - costs_.overhead;
    send_over_ports(number, {}, begun + legs_->overhead(operation(place).amount), now);
  }
  void send_over_ports(uint32_t number, const Leg& leg, Time processor_free, Time now) {
    const uint32_t place = messages_[number].send;
    const RankOperation& one = operation(place);
    const uint32_t flow = own_clock_.send({.from = static_cast<int>(schedule_.rank_of(place)),
                                           .to = static_cast<int>(one.peer),
                                           .size_B = static_cast<double>(one.amount),
                                           .leg = leg},
                                          now);
    if (flow >= on_the_way_.size()) on_the_way_.resize(flow + 1);
    on_the_way_[flow] = {number, place, processor_free, false};
    ++on_the_way_count_;
  }
  // A message to oneself meets no port.
  bool meets_ports(uint32_t from, uint32_t to) const { return carrier_ && from != to; }

  void name_what_waits(const std::vector<Stranded>& messages) {
    for (const OnTheWay& one : on_the_way_)
      if (!one.has_arrived) result_.stranded[one.send] = Stranding::stopped;
    if (!result_.stranded.empty() && messages.empty()) throw InputError("", never_ends);
    for (const Stranded& one : messages)
      if (one.message < on_the_way_.size() && !on_the_way_[one.message].has_arrived)
        result_.stranded[on_the_way_[one.message].send] = one.why;
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
  void note_begin(uint32_t place, Time now) {
    if (replay_.records) result_.began[place] = now;
  }

  void release(uint32_t place, bool at_start, Time now) {
    for (const RankSchedule::Follower& follower : schedule_.followers_of(place))
      if (follower.at_start == at_start && --waits_[follower.operation] == 0)
        become_ready(follower.operation, now);
  }

  void become_ready(uint32_t place, Time now) {
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
    }
  }

  void end(uint32_t place, Time now) {
    waits_[place] = over;
    ++result_.operations;
    if (replay_.records) result_.ended[place] = now;
    Time& last = result_.ends[schedule_.rank_of(place)];
    last = std::max(last, now);
    release(place, false, now);
  }

  void look_later(uint32_t number, Time when) {
    Processor& processor = processors_[number];
    when = std::max(when, processor.free);
    if (processor.looks <= when) return;
    processor.looks = when;
    plan(look, number, when);
  }

  // Begins what can begin now, and looks again when the next thing can.
  void look_at(uint32_t number, Time now) {
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

  void begin(uint32_t place, Processor& processor, Time now) {
    const RankOperation& one = operation(place);
    if (one.verb != RankVerb::receive) note_begin(place, now);
    switch (one.verb) {
      case RankVerb::compute:
        processor.free = now + Duration::ps(one.amount);
        break;
      case RankVerb::send:
        processor.free = now + legs_->overhead(one.amount);
        release(place, true, now);
        if (send(place, processor.free, now)) plan(ended, place, std::max(processor.free, leaves_));
        return;  // else it ends when its receiver is there
      case RankVerb::receive:
        processor.free = now + legs_->overhead(one.amount);
        break;
    }
    if (one.verb == RankVerb::compute) release(place, true, now);
    plan(ended, place, processor.free);
  }

  // Whether it goes at once; then the sender is done with it when `leaves_` has come.
  bool send(uint32_t place, Time processor_free, Time now) {
    const RankOperation& one = operation(place);
    const uint32_t rank = schedule_.rank_of(place);
    const bool is_eager = one.amount <= costs_.eager_B;
    const Leg leg = legs_->of(rank, one.peer, one.amount);
    ++result_.messages;
    result_.wire_B += static_cast<double>(one.amount);
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
      leaves_ = legs_->on_network() ? now + leg.out_busy : now;
      plan(comes, number, now + leg.flight);
    } else {
      plan(announced, number, now + costs_.overhead + legs_->flight_of_word(rank, one.peer));
    }
    return is_eager;
  }

  // The first byte is there.
  void take(uint32_t number, Time now) {
    if (messages_[number].receive != RankOperation::any) return receive(number, now);
    announce(number, now);
  }

  // It is there, or would like to come: for the receive that has asked first.
  void announce(uint32_t number, Time now) {
    Message& message = messages_[number];
    const RankOperation& send = operation(message.send);
    const uint32_t from = schedule_.rank_of(message.send);
    const auto asked = asked_.take(send.peer, from, send.tag, true);
    if (!asked) {
      // The receive will say by which card; until then it is that of the sender's number.
      if (buffers_ && message.is_eager && !meets_ports(from, send.peer))
        message.taken = pass_card(send, from, send.card, now);
      return arrived_.add(send.peer, from, send.tag, number);
    }
    message.receive = *asked;
    meet(number, now);
  }

  void ask(uint32_t place, Time now) {
    const RankOperation& one = operation(place);
    note_begin(place, now);
    release(place, true, now);
    const uint32_t rank = schedule_.rank_of(place);
    const auto arrived = arrived_.take(rank, one.peer, one.tag, false);
    if (!arrived) return asked_.add(rank, one.peer, one.tag, place);
    messages_[*arrived].receive = place;
    meet(*arrived, now);
  }

  void meet(uint32_t number, Time now) {
    const Message& message = messages_[number];
    if (message.is_eager) return receive(number, now);
    const RankOperation& send = operation(message.send);
    plan(answered, number, now + legs_->flight_of_word(send.peer, schedule_.rank_of(message.send)));
  }

  void send_announced(uint32_t number, Time now) {
    const Message& message = messages_[number];
    const RankOperation& send = operation(message.send);
    const uint32_t rank = schedule_.rank_of(message.send);
    const Leg leg = legs_->of(rank, send.peer, send.amount);
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
  BytesThere pass_card(const RankOperation& send, uint32_t from, uint16_t number, Time now) {
    const Leg leg = legs_->of(from, send.peer, send.amount);
    Time& in = card(send.peer, number, false);
    const Time first = std::max(in, now);
    in = first + leg.in_busy;
    return {first, first + leg.transit};
  }

  // It is there and asked for. The processor is needed from when it need not wait for bytes.
  void receive(uint32_t number, Time now) {
    const Message& message = messages_[number];
    const RankOperation& send = operation(message.send);
    const RankOperation& one = operation(message.receive);
    const uint32_t sender = schedule_.rank_of(message.send);
    BytesThere there{now, now};
    if (message.taken)
      there = *message.taken;
    else if (!meets_ports(sender, send.peer))
      there = pass_card(send, sender, one.card, now);
    const Duration kept = legs_->overhead_of_bytes(one.amount);
    const Time from = std::max({now, there.first, there.last - kept});
    processors_[one.processor].work.push({from, message.receive});
    look_later(one.processor, from);
    unused_.push_back(number);
  }

  struct OnTheWay {
    uint32_t message = 0;
    uint32_t send = 0;
    Time processor_free;  // of the sender
    bool has_arrived = true;
  };

  const Replay& replay_;
  const RankSchedule& schedule_;
  const MessageCosts& costs_;
  const bool buffers_;  // what comes before it is asked for
  Agenda agenda_;
  std::optional<PortResources> ports_;
  std::unique_ptr<Carrier> carrier_;
  Clock clock_;
  ActorClock own_clock_;
  TrafficInTime traffic_;
  std::optional<MessageLegs> legs_;
  std::vector<OnTheWay> on_the_way_;  // by the carrier's numbers
  std::size_t on_the_way_count_ = 0;
  Time leaves_;  // the card, of the last message sent at once
  std::vector<uint32_t> waits_;
  std::vector<Processor> processors_;
  std::vector<Time> first_cards_;   // of each rank, in and out
  std::map<uint64_t, Time> cards_;  // the others
  std::vector<Message> messages_;
  std::vector<uint32_t> unused_;
  Matching arrived_;  // messages that nobody has asked for, by receiver
  Matching asked_;    // receives without a message
  Replayed result_;
};

}  // namespace

Replayed play(const Replay& replay) { return RankPlayer(replay).play(); }

}  // namespace sgdsim
