// MLT (Wang et al., NSDI 2024). A message is complete when all but its loss bound has come; what is
// missing beyond that is sent again, round by round. Front layers go first and are dropped first,
// important packets are not, and packets take all ways.
#include "models/transport/mlt.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>
#include <utility>

#include "sim/core/random.h"

namespace sgdsim {
namespace {

enum Says : uint8_t { got_ten, missing_some, stop };

class MltConversation;

// What answers said of marks, as DCTCP counts it: alpha over each round trip, and one fall in it.
struct MarksHeard {
  double alpha = 1;  // until something else is known (RFC 8257)
  double answered = 0;
  double marked = 0;
  Time counts_from;  // packets that were sent later belong to the next round trip
  Time fell;
};

// All messages from one worker to another in one queue: they share a rate, and go one after the
// other. Round trips through another queue say nothing about this one.
struct MltConnection {
  // The sender's.
  int messages = 0;    // that have begun, and have not heard that it is enough
  uint32_t begun = 0;  // ever
  std::map<uint32_t, MltConversation*> senders;  // with packets to send, as they began
  MltConversation* first = nullptr;              // of those
  double rate = 0;                               // bytes a picosecond; 0: not known
  double line = 0;                               // what the line had then
  Time next;                                     // packet
  Time idle_since;
  double unanswered = 0;  // packets since the last answer
  Duration last_trip;
  bool has_heard = false;
  MarksHeard marks;
  // The receiver's, since its last answer.
  uint32_t got = 0;
  uint32_t marked = 0;
};
using MltConnections = std::map<std::tuple<int, int, uint8_t>, MltConnection>;

// Which of so many equal parts of a model comes at this depth.
std::size_t place_at(double depth, std::size_t parts) {
  // A layer's depth is its number over that of all: not to fall below it when multiplied again.
  const auto place = static_cast<std::size_t>(depth * static_cast<double>(parts) + 1e-9);
  return std::min(place, parts - 1);
}
double part_at(const PartsByDepth& parts, double depth) {
  return parts[place_at(depth, parts.size())];
}

// So many times, until it is more than a minute.
Duration doubled(Duration length, int times) {
  for (; times > 0 && length < Duration::s(60); --times) length += length;
  return length;
}

class MltConversation final : public Conversation {
 public:
  MltConversation(Packets& packets, uint32_t number, const Parcel& parcel, const MltRules& rules,
                  std::shared_ptr<MltConnections> connections)
      : Conversation(packets, number, parcel),
        rules_(rules),
        connections_(std::move(connections)),
        line_rate_(line_rate()),
        turn_(count()),
        received_(count()) {
    holds_sender = parcel.is_overwritten;  // what is missing may be asked for until the end
    const Freight& freight = parcel.freight;
    if (rules_.goes_by_depth) {
      queue = static_cast<uint8_t>(1 + place_at(freight.depth, packet_queues - 1));
      important_ = part_at(rules_.important, freight.depth);
    }
    connection_ = &(*connections_)[{parcel.from, parcel.to, queue}];
    const bool is_pulled = freight.cargo == Cargo::parameters;
    const double bound =
        part_at(is_pulled ? rules_.pull_loss_bound : rules_.loss_bound, freight.depth);
    wanted_B_ = std::ceil((1 - bound) * parcel.size_B);
    set_times();
  }

  void route_changed() override {
    line_rate_ = line_rate();
    follow_line();
    set_times();
  }

  void begin(Time now) override {
    const bool was_idle = connection_->messages++ == 0;
    if (connection_->rate == 0 ||
        (was_idle &&
         now - connection_->idle_since >= rules_.forget_after.value_or(rules_.question_timeout))) {
      connection_->rate = connection_->line = line_rate_;
      connection_->marks = {};
      connection_->unanswered = 0;
      connection_->has_heard = false;
    }
    follow_line();
    order_ = connection_->begun++;
    // Drawn once for each packet, so that it is the same when it is sent again.
    if (important_ < 1)
      draws_ = Random::of(rules_.seed, {static_cast<uint64_t>(parcel().from),
                                        static_cast<uint64_t>(parcel().to), parcel().flow, order_})
                   .bits();
    get_in_line(now);
  }

  Offer next(Packet& packet, Time now) override {
    if (connection_->first != this) return Offer::nothing;
    const bool is_paced = connection_->rate < line_rate_;
    if (is_paced && connection_->next > now) {
      packets_.set_timer(*this, connection_->next);
      return Offer::nothing;
    }
    if (next_ < count()) {
      packet.number = next_++;
    } else {
      packet.number = again_.back();
      packet.is_again = true;
      again_.pop_back();
    }
    packet.may_be_marked = is_important(packet.number);
    miss_an_answer();
    connection_->next = after(packet, now);
    asks_ = next_ == count() && again_.empty();
    if (asks_) leave_line(now);
    if (asks_)
      packets_.set_timer(*this, connection_->next + rules_.ask_after);
    else if (is_paced)
      packets_.set_timer(*this, connection_->next);
    return asks_ || is_paced ? Offer::last : Offer::more;
  }

  void at_receiver(const Packet& packet, Time now) override {
    if (packet.kind == PacketKind::question) return reply(missing_some, packet, now);
    if (received_.add(packet.number)) {
      packets_.count_delivered();
      delivered_B_ += payload_B(packet.number);
    }
    ++connection_->got;
    connection_->marked += packet.is_marked ? 1 : 0;
    if (!is_done_ && (delivered_B_ >= wanted_B_ || received_.has_all())) {
      is_done_ = true;
      packets_.complete(*this, now);
      return reply(stop, packet, now);
    }
    if (connection_->got >= rules_.answer_every) reply(got_ten, packet, now);
  }

  void at_sender(const Packet& packet, Time now) override {
    timeouts_ = 0;
    if (packet.says != missing_some) connection_->unanswered = 0;
    if (packet.says == stop) return finish(now);
    if (packet.says == got_ten) return adapt(packet, now);
    if (!waits_ || is_over_) return;  // an answer to a question that was asked twice
    waits_ = false;
    const auto missing = static_cast<uint32_t>(told_missing_.size());
    const bool is_early = 4 * static_cast<uint64_t>(turn_ - std::min(turn_, missing)) < turn_;
    if (is_early && !has_waited_) {
      has_waited_ = true;
      return packets_.set_timer(*this, now + doubled(full_trip_, in_vain_));
    }
    in_vain_ = is_early ? in_vain_ + 1 : 0;
    if (in_vain_ > most_doubled_timeouts) return finish(now);
    has_waited_ = false;
    turn_ = missing;
    again_ = std::exchange(told_missing_, {});
    // What was missing has come meanwhile, and stop with it.
    asks_ = again_.empty();
    if (asks_) return packets_.set_timer(*this, now + rules_.question_timeout);
    packets_.stop_timer(*this);
    get_in_line(now);
  }

  void on_timer(Time now) override {
    if (!asks_) return packets_.ready(*this, now);
    if (waits_) {
      packets_.count_timeout();
      if (++timeouts_ > most_doubled_timeouts) return finish(now);
    }
    waits_ = true;
    packets_.ask(*this, {}, now);
    packets_.set_timer(*this, now + doubled(rules_.question_timeout, timeouts_));
  }

  Delivery delivery() const override {
    Delivery delivery;
    for (uint32_t one = 0; one < count(); ++one) {
      const std::size_t kind = is_important(one) ? 1 : 0;
      delivery.size_B[kind] += payload_B(one);
      if (received_.has(one)) delivery.delivered_B[kind] += payload_B(one);
    }
    return delivery;
  }

 private:
  // Who sends at the rate of its line goes on with it.
  void follow_line() {
    MltConnection& its = *connection_;
    its.rate = its.rate >= its.line ? line_rate_ : std::min(its.rate, line_rate_);
    its.line = line_rate_;
  }
  bool is_important(uint32_t number) const {
    if (important_ >= 1) return true;
    const uint64_t bits = (draws_ + number) * 0x9e3779b97f4a7c15U;
    return static_cast<double>((bits ^ (bits >> 29U)) >> 32U) < important_ * 4294967296.0;
  }

  void get_in_line(Time now) {
    connection_->senders[order_] = this;
    let_first_go(now);
  }
  void leave_line(Time now) {
    if (connection_->senders.erase(order_) > 0) let_first_go(now);
  }
  void let_first_go(Time now) {
    const auto& senders = connection_->senders;
    connection_->first = senders.empty() ? nullptr : senders.begin()->second;
    if (connection_->first != nullptr) packets_.ready(*connection_->first, now);
  }
  void finish(Time now) {
    if (is_over_) return;
    is_over_ = true;
    if (--connection_->messages == 0) connection_->idle_since = now;
    packets_.finish(*this, now);
    leave_line(now);
  }

  Time after(const Packet& packet, Time now) const {
    const double size_B = packets_.setup().header_B + payload_B(packet.number);
    return now + Duration::nearest_ps(size_B / connection_->rate);
  }

  // The bits of what is missing travel with the answer.
  void reply(Says what, const Packet& packet, Time now) {
    Packet answer;
    answer.says = what;
    answer.sent = packet.sent;
    if (what == got_ten) {
      answer.value = std::exchange(connection_->marked, 0);
      connection_->got = 0;
    } else if (is_done_) {
      answer.says = stop;
    } else {
      answer.size_B = std::max(packets_.setup().answer_B, (count() + 7) / 8);
      told_missing_.clear();
      for (uint32_t one = count(); one-- > 0;)
        if (!received_.has(one)) told_missing_.push_back(one);
    }
    packets_.answer(*this, answer, now);
  }

  // What fits any link: from its route, and from the room of its slowest port.
  void set_times() {
    const PacketSetup& setup = packets_.setup();
    const Duration trip = round_trip(route_, setup.packet_B, setup.answer_B);
    constexpr double most_ps = 1e18;
    const double full_ps =
        std::min(most_ps, route_.ps_per_B * static_cast<double>(setup.queues.port_limit_B));
    short_trip_ = rules_.short_trip.value_or(trip + Duration::nearest_ps(full_ps / 64));
    long_trip_ = rules_.long_trip.value_or(trip + Duration::nearest_ps(0.7 * full_ps));
    full_trip_ = std::min(rules_.question_timeout, trip + Duration::nearest_ps(full_ps));
    step_ = rules_.step_Bps ? *rules_.step_Bps * 1e-12 : 0.0016 * line_rate_;
    const double answers = 6.0 * rules_.answer_every;
    const double in_trip = static_cast<double>(trip.ps()) * line_rate_ / setup.packet_B;
    halve_every_ = rules_.halve_after ? *rules_.halve_after : answers;
    halve_from_ = in_trip + halve_every_;
  }

  // A queue that gets no turn answers nothing, and so does a port that drops everything.
  void miss_an_answer() {
    MltConnection& its = *connection_;
    if (halve_every_ <= 0 || ++its.unanswered < halve_from_) return;
    its.unanswered -= halve_every_;
    its.rate = std::max(its.rate / 2, rules_.least_rate * line_rate_);
  }

  void adapt(const Packet& packet, Time now) {
    MltConnection& its = *connection_;
    if (rules_.falls_by_marks) {
      adapt_to_marks(packet, now);
    } else {
      const Duration trip = now - packet.sent;
      const bool shrinks = its.has_heard && trip < its.last_trip;
      its.last_trip = trip;
      its.has_heard = true;
      if (trip > long_trip_)
        its.rate *= 1 - rules_.fall * (1 - long_trip_ / trip);
      else if (trip < short_trip_ || shrinks)
        its.rate += step_;
    }
    its.rate = std::clamp(its.rate, rules_.least_rate * line_rate_, line_rate_);
  }

  void adapt_to_marks(const Packet& packet, Time now) {
    MarksHeard& marks = connection_->marks;
    if (packet.sent >= marks.counts_from) {
      if (marks.answered > 0)
        marks.alpha += rules_.gain * (marks.marked / marks.answered - marks.alpha);
      marks.answered = marks.marked = 0;
      marks.counts_from = now;
    }
    marks.answered += rules_.answer_every;
    marks.marked += packet.value;
    if (packet.value == 0) {
      rise_by_trips(now - packet.sent);
    } else if (packet.sent >= marks.fell) {
      connection_->rate *= 1 - marks.alpha / 2;
      marks.fell = now;
    }
  }

  // As windows do: by one packet a round trip in each round trip, or by a step.
  void rise_by_trips(Duration trip) {
    const double packet_B = packets_.setup().packet_B;
    const auto trip_ps = static_cast<double>(trip.ps());
    const double trips = rules_.answer_every * packet_B / connection_->rate / trip_ps;
    connection_->rate += trips * (rules_.step_Bps ? step_ : packet_B / trip_ps);
  }

  const MltRules& rules_;
  std::shared_ptr<MltConnections> connections_;
  MltConnection* connection_;
  double important_ = 1;
  uint64_t draws_ = 0;
  double wanted_B_ = 0;
  Duration short_trip_;
  Duration long_trip_;
  Duration full_trip_;  // through a full port
  double step_ = 0;     // bytes a picosecond
  double halve_every_ = 0;
  double halve_from_ = 0;
  // The sender's.
  double line_rate_;    // bytes a picosecond
  uint32_t order_ = 0;  // among those of its connection
  uint32_t next_ = 0;
  std::vector<uint32_t> again_;  // last one first
  bool asks_ = false;            // what is missing, as soon as the last packet has left
  bool waits_ = false;           // for the answer
  bool is_over_ = false;         // it has heard that it is enough, or gave up
  uint32_t turn_ = 0;            // packets that were sent between two questions
  bool has_waited_ = false;      // since then, because little of them had come
  int in_vain_ = 0;              // turns of which little came
  int timeouts_ = 0;
  // The receiver's.
  Received received_;
  double delivered_B_ = 0;
  bool is_done_ = false;
  std::vector<uint32_t> told_missing_;  // in its last answer, which is on its way
};

}  // namespace

void read_mlt(Object& fields, MltRules rules, PacketSetup& setup) {
  read_mlt_fields(fields, rules, setup);
  const auto shared = std::make_shared<const MltRules>(std::move(rules));
  setup.transport = [shared]() -> PacketSetup::Connect {
    const auto connections = std::make_shared<MltConnections>();
    return [shared, connections](Packets& packets, uint32_t number, const Parcel& parcel) {
      return std::make_unique<MltConversation>(packets, number, parcel, *shared, connections);
    };
  };
}

namespace transport::mlt {
namespace {

void read(Object& fields, const std::vector<double>&, PacketSetup& setup) {
  read_mlt(fields, {}, setup);
}

}  // namespace

Transport describe() {
  return {"mlt", "bounded loss, queues by layer and importance, packets on all ways",
          set_mlt_defaults, options_of<MltOptions>, read};
}

}  // namespace transport::mlt
}  // namespace sgdsim
