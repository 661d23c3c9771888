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

// All messages from one worker to another in one queue: they share a rate, and go one after the
// other. Round trips through another queue say nothing about this one.
struct MltConnection {
  // The sender's.
  int messages = 0;    // that have begun, and have not heard that it is enough
  uint32_t begun = 0;  // ever
  std::map<uint32_t, MltConversation*> senders;  // with packets to send, as they began
  MltConversation* first = nullptr;              // of those
  double rate = 0;                               // bytes a picosecond
  double alpha = 0;
  Time next;  // packet
  Duration last_trip;
  bool has_heard = false;
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

class MltConversation final : public Conversation {
 public:
  MltConversation(Packets& packets, uint32_t number, const Parcel& parcel, const MltRules& rules,
                  std::shared_ptr<MltConnections> connections)
      : Conversation(packets, number, parcel),
        rules_(rules),
        connections_(std::move(connections)),
        line_rate_(line_rate()),
        received_(count()) {
    holds_sender = true;  // what is missing may be asked for until the end
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
  }

  void begin(Time now) override {
    if (connection_->messages++ == 0) {
      connection_->rate = line_rate_;
      connection_->alpha = 0;
      connection_->has_heard = false;
    }
    order_ = connection_->begun++;
    // Drawn once for each packet, so that it is the same when it is sent again.
    if (important_ < 1)
      draws_ = Random(rules_.seed)
                   .stream(static_cast<uint64_t>(parcel().from))
                   .stream(static_cast<uint64_t>(parcel().to))
                   .stream(parcel().flow)
                   .stream(order_)
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
    if (packet.says == stop) return finish(now);
    if (packet.says == got_ten) return adapt(packet, now);
    if (!waits_ || is_over_) return;  // an answer to a question that was asked twice
    waits_ = false;
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
    packets_.set_timer(*this, now + rules_.question_timeout * (int64_t{1} << timeouts_));
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
    --connection_->messages;
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

  void adapt(const Packet& packet, Time now) {
    MltConnection& its = *connection_;
    const Duration trip = now - packet.sent;
    const bool shrinks = its.has_heard && trip < its.last_trip;
    its.last_trip = trip;
    its.has_heard = true;
    if (rules_.falls_by_marks) {
      const double part = std::min(1.0, static_cast<double>(packet.value) / rules_.answer_every);
      its.alpha += rules_.gain * (part - its.alpha);
      its.rate = packet.value > 0 ? its.rate * (1 - its.alpha / 2) : its.rate + step();
    } else if (trip < rules_.short_trip) {
      its.rate += step();
    } else if (trip > rules_.long_trip) {
      its.rate *= 1 - rules_.fall * (1 - rules_.long_trip / trip);
    } else if (shrinks) {
      its.rate += step();
    }
    its.rate = std::clamp(its.rate, rules_.least_rate * line_rate_, line_rate_);
  }
  double step() const { return rules_.step_Bps * 1e-12; }

  const MltRules& rules_;
  std::shared_ptr<MltConnections> connections_;
  MltConnection* connection_;
  double important_ = 1;
  uint64_t draws_ = 0;
  double wanted_B_ = 0;
  // The sender's.
  double line_rate_;    // bytes a picosecond
  uint32_t order_ = 0;  // among those of its connection
  uint32_t next_ = 0;
  std::vector<uint32_t> again_;  // last one first
  bool asks_ = false;            // what is missing, as soon as the last packet has left
  bool waits_ = false;           // for the answer
  bool is_over_ = false;         // it has heard that it is enough, or gave up
  int timeouts_ = 0;
  // The receiver's.
  Received received_;
  double delivered_B_ = 0;
  bool is_done_ = false;
  std::vector<uint32_t> told_missing_;  // in its last answer, which is on its way
};

}  // namespace

void set_mlt_defaults(PacketSetup& setup) {
  setup.packet_B = 1500;
  setup.header_B = 44;
  setup.spray = Spray::permuted;
  setup.queues.port_limit_B = 512'000;
}

// Which of bounded loss, queues by layer and ways are used: "ABC".
void read_parts(Object& fields, MltRules& rules, PacketSetup& setup) {
  const auto field = fields.find("parts");
  if (!field) return;
  std::string left = field->text();
  const auto take = [&](char letter) {
    const std::size_t place = left.find(letter);
    if (place == std::string::npos) return false;
    left.erase(place, 1);
    return true;
  };
  // A part that is not used has no fields.
  const auto refuse = [&](char letter, const char* name) {
    if (fields.has(name)) fields.at(name).fail(std::string("has no effect without part ") + letter);
  };
  if (!take('A')) {
    for (const char* name : {"loss_bound", "pull_loss_bound"}) refuse('A', name);
    rules.loss_bound = rules.pull_loss_bound = {0.0};
  }
  rules.goes_by_depth = take('B');
  if (!rules.goes_by_depth)
    for (const char* name : {"important", "thresholds"}) refuse('B', name);
  if (!take('C')) {
    refuse('C', "spray");
    setup.spray = Spray::per_flow;
  }
  if (!left.empty())
    field->fail("expected some of A (bounded loss), B (queues by layer) and C (all ways), got \"" +
                field->text() + "\"");
}

// What counts grows from the first queue of data to the last one.
void set_thresholds(Object& fields, PacketSetup& setup) {
  std::array<uint64_t, packet_queues>& above_B = setup.queues.mark_above_B;
  const double first_B = 65.0 * setup.packet_B;
  const double last_B = std::max(first_B, 0.75 * static_cast<double>(setup.queues.port_limit_B));
  constexpr std::size_t queues = packet_queues - 1;
  for (std::size_t i = 0; i < queues; ++i)
    above_B[i + 1] = static_cast<uint64_t>(first_B + (last_B - first_B) * static_cast<double>(i) /
                                                         static_cast<double>(queues - 1));
  const auto field = fields.find("thresholds");
  if (!field) return;
  const std::vector<Value> items = field->items();
  if (items.size() != queues)
    field->fail("expected the thresholds of " + std::to_string(queues) + " queues, front first");
  for (std::size_t i = 0; i < queues; ++i) {
    const int64_t size_B = items[i].bytes().count();
    above_B[i + 1] = static_cast<uint64_t>(size_B);
  }
}

// A part, or a list of them.
PartsByDepth read_by_depth(Object& fields, const std::string& name, PartsByDepth otherwise) {
  const auto field = fields.find(name);
  if (!field) return otherwise;
  if (!field->json().is_array()) return {field->number(0, 1)};
  PartsByDepth parts;
  for (const Value& item : field->items()) parts.push_back(item.number(0, 1));
  if (parts.empty()) field->fail("expected at least one part");
  return parts;
}

void read_mlt(Object& fields, MltRules rules, PacketSetup& setup) {
  rules.loss_bound = read_by_depth(fields, "loss_bound", rules.loss_bound);
  PartsByDepth pulls = rules.loss_bound;
  for (double& bound : pulls) bound = std::min(bound, rules.pull_loss_bound.front());
  rules.pull_loss_bound = read_by_depth(fields, "pull_loss_bound", std::move(pulls));
  rules.important = read_by_depth(fields, "important", rules.important);
  rules.answer_every = read_count(fields, "answer_every", 1, rules.answer_every);
  if (const auto field = fields.find("ask_after")) {
    rules.ask_after = field->duration();
    if (rules.ask_after < Duration()) field->fail("expected 0 s or more");
  }
  rules.question_timeout = read_length(fields, "question_timeout", rules.question_timeout);
  rules.short_trip = read_length(fields, "short_trip", rules.short_trip);
  rules.long_trip = read_length(fields, "long_trip", rules.long_trip);
  if (const auto field = fields.find("step")) rules.step_Bps = field->bandwidth().Bps();
  rules.fall = read_part(fields, "fall", rules.fall);
  rules.least_rate = read_part(fields, "least_rate", rules.least_rate);
  if (rules.least_rate <= 0) fields.at("least_rate").fail("a rate of 0 sends nothing");
  rules.seed = setup.seed;
  setup.queues.selects = true;
  set_thresholds(fields, setup);
  read_parts(fields, rules, setup);
  if (!rules.goes_by_depth) {
    setup.queues.selects = false;
    setup.queues.mark_above_B = QueueRules::filled(QueueRules::no_limit);
  }
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
          set_mlt_defaults, read};
}

}  // namespace transport::mlt
}  // namespace sgdsim
