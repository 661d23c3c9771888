// MLT (Wang et al., NSDI 2024). A message is complete when all but its loss bound has come; what is
// missing beyond that is sent again, round by round. Front layers go first and are dropped first,
// important packets are not, and packets take all ways.
#include "models/transport/mlt.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "sim/core/random.h"

namespace sgdsim {
namespace {

enum Says : uint8_t { got_ten, missing_some, stop };

class MltConversation final : public Conversation {
 public:
  MltConversation(Packets& packets, uint32_t number, const Parcel& parcel,
                  std::shared_ptr<const MltRules> rules)
      : Conversation(packets, number, parcel),
        rules_(std::move(rules)),
        line_rate_(line_rate()),
        rate_(line_rate_),
        received_(count()) {
    const double depth = std::clamp(parcel.freight.depth, 0.0, 0.999999);
    if (rules_->goes_by_depth)
      queue = static_cast<uint8_t>(
          1 + static_cast<int>(depth * static_cast<double>(packet_queues - 1)));
    const double bound =
        parcel.freight.cargo == Cargo::parameters ? rules_->pull_loss_bound : rules_->loss_bound;
    wanted_B_ = std::ceil((1 - bound) * parcel.size_B);
    // Drawn once for each packet, so that it is the same when it is sent again.
    if (rules_->goes_by_depth && rules_->important < 1)
      draws_ = Random(rules_->seed)
                   .stream(static_cast<uint64_t>(parcel.from))
                   .stream(static_cast<uint64_t>(parcel.to))
                   .stream(parcel.flow)
                   .bits();
  }

  void begin(Time now) override { packets_.ready(*this, now); }

  Offer next(Packet& packet, Time now) override {
    if (next_ < count()) {
      packet.number = next_++;
    } else if (!again_.empty()) {
      packet.number = again_.back();
      packet.is_again = true;
      again_.pop_back();
    } else {
      return Offer::nothing;
    }
    packet.may_be_marked = is_important(packet.number);
    asks_ = next_ == count() && again_.empty();
    if (asks_) {
      packets_.set_timer(*this, after(packet, now));
      return Offer::last;
    }
    if (rate_ >= line_rate_) return Offer::more;
    packets_.set_timer(*this, after(packet, now));
    return Offer::last;
  }

  void at_receiver(const Packet& packet, Time now) override {
    if (packet.kind == PacketKind::question) return reply(missing_some, packet, now);
    if (received_.add(packet.number)) {
      packets_.count_delivered();
      delivered_B_ += payload_B(packet.number);
    }
    ++got_;
    marked_ += packet.is_marked ? 1 : 0;
    if (!is_done_ && (delivered_B_ >= wanted_B_ || received_.has_all())) {
      is_done_ = true;
      packets_.complete(*this);
      return reply(stop, packet, now);
    }
    if (got_ % rules_->answer_every == 0 && !is_done_) reply(got_ten, packet, now);
  }

  void at_sender(const Packet& packet, Time now) override {
    timeouts_ = 0;
    if (packet.says == stop) return packets_.finish(*this, now);
    if (packet.says == got_ten) return adapt(packet, now);
    if (!waits_) return;  // an answer to a question that was asked twice
    waits_ = false;
    again_ = std::exchange(told_missing_, {});
    // What was missing has come meanwhile, and stop with it.
    if (again_.empty()) return packets_.set_timer(*this, now + rules_->question_timeout);
    packets_.stop_timer(*this);
    packets_.ready(*this, now);
  }

  void on_timer(Time now) override {
    if (!asks_) return packets_.ready(*this, now);
    if (waits_) {
      packets_.count_timeout();
      if (++timeouts_ > most_doubled_timeouts) return packets_.finish(*this, now);
    }
    waits_ = true;
    packets_.ask(*this, {}, now);
    packets_.set_timer(*this, now + rules_->question_timeout * (int64_t{1} << timeouts_));
  }

  double delivered_part() const override {
    return parcel().size_B > 0 ? std::min(1.0, delivered_B_ / parcel().size_B) : 1;
  }

 private:
  bool is_important(uint32_t number) const {
    if (!rules_->goes_by_depth || rules_->important >= 1) return true;
    const uint64_t bits = (draws_ + number) * 0x9e3779b97f4a7c15U;
    return static_cast<double>((bits ^ (bits >> 29U)) >> 32U) < rules_->important * 4294967296.0;
  }

  Time after(const Packet& packet, Time now) const {
    const double size_B = packets_.setup().header_B + payload_B(packet.number);
    return now + Duration::nearest_ps(size_B / std::min(rate_, line_rate_));
  }

  // The bits of what is missing travel with the answer.
  void reply(Says what, const Packet& packet, Time now) {
    Packet answer;
    answer.says = is_done_ ? stop : what;
    answer.sent = packet.sent;
    answer.value = marked_;
    if (answer.says == missing_some) {
      answer.size_B = std::max(packets_.setup().answer_B, (count() + 7) / 8);
      told_missing_.clear();
      for (uint32_t one = count(); one-- > 0;)
        if (!received_.has(one)) told_missing_.push_back(one);
    }
    marked_ = 0;
    packets_.answer(*this, answer, now);
  }

  void adapt(const Packet& packet, Time now) {
    const Duration trip = now - packet.sent;
    const bool shrinks = heard_ && trip < last_trip_;
    last_trip_ = trip;
    heard_ = true;
    if (rules_->falls_by_marks) {
      const double part = std::min(1.0, static_cast<double>(packet.value) / rules_->answer_every);
      alpha_ += rules_->gain * (part - alpha_);
      rate_ = packet.value > 0 ? rate_ * (1 - alpha_ / 2) : rate_ + rules_->step_Bps * 1e-12;
    } else if (trip < rules_->short_trip) {
      rate_ += rules_->step_Bps * 1e-12;
    } else if (trip > rules_->long_trip) {
      rate_ *= 1 - rules_->fall * (1 - rules_->long_trip / trip);
    } else if (shrinks) {
      rate_ += rules_->step_Bps * 1e-12;
    }
    rate_ = std::clamp(rate_, rules_->least_rate * line_rate_, line_rate_);
  }

  std::shared_ptr<const MltRules> rules_;
  uint64_t draws_ = 0;
  double wanted_B_ = 0;
  // The sender's.
  double line_rate_;  // bytes a picosecond
  double rate_;
  double alpha_ = 0;
  uint32_t next_ = 0;
  std::vector<uint32_t> again_;  // last one first
  bool asks_ = false;            // what is missing, as soon as the last packet has left
  bool waits_ = false;           // for the answer
  int timeouts_ = 0;
  Duration last_trip_;
  bool heard_ = false;
  // The receiver's.
  Received received_;
  double delivered_B_ = 0;
  uint32_t got_ = 0;
  uint32_t marked_ = 0;
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
    rules.loss_bound = rules.pull_loss_bound = 0;
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

void read_mlt(Object& fields, MltRules rules, PacketSetup& setup) {
  rules.loss_bound = read_part(fields, "loss_bound", rules.loss_bound);
  rules.pull_loss_bound =
      read_part(fields, "pull_loss_bound", std::min(rules.pull_loss_bound, rules.loss_bound));
  rules.important = read_part(fields, "important", rules.important);
  rules.answer_every = read_count(fields, "answer_every", 1, rules.answer_every);
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
  use<MltConversation>(setup, std::move(rules));
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
