// NDP (Handley et al., SIGCOMM 2017): a first window at line rate, then one packet for each that
// the receiver pulls; full queues cut data down to headers, which tell the receiver what to ask
// for.
#include <algorithm>
#include <deque>
#include <memory>
#include <vector>

#include "models/transport/received.h"
#include "models/transport/registry.h"

namespace sgdsim::transport::ndp {
namespace {

enum Says : uint8_t { nothing, acknowledged, cut, pulled };

struct NdpRules {
  uint32_t first_window = 0;
  Duration timeout;  // none: by the route
};

class NdpConversation;

// A receiver's card lets so much come as fits through it: one packet at a time, by turns.
class PullPacer {
 public:
  void prepare(Packets& packets) {
    if (&packets == packets_) return;
    packets_ = &packets;
    cards_.clear();
    packets.on_pull([this](int worker, Time now) { pull(worker, now); });
  }
  // Whether the pull may go at once.
  bool ask(NdpConversation& conversation, Time now);

 private:
  struct Card {
    std::deque<uint32_t> waiting;  // conversations
    Time free;
    bool is_planned = false;
  };
  Card& card(int worker) {
    const auto place = static_cast<std::size_t>(worker);
    if (place >= cards_.size()) cards_.resize(place + 1);
    return cards_[place];
  }
  void pull(int worker, Time now);

  Packets* packets_ = nullptr;
  std::vector<Card> cards_;
};

// How long a packet and its answer may wait for queues of headers that are full, at every switch
// there and back: ten headers go, or as many as may, then one packet of data.
Duration longest_wait(const RouteFacts& route, const PacketSetup& setup) {
  constexpr double header_B = 64;
  const auto headers_B = static_cast<double>(setup.queues.queue_limit_B.front());
  const double turns = headers_B / header_B / setup.queues.headers_in_turn;
  const double queue_B = headers_B + turns * setup.packet_B;
  return round_trip(route, setup.packet_B, setup.answer_B) +
         Duration::nearest_ps(2.0 * std::max(0, route.roads - 1) * queue_B * route.ps_per_B);
}

class NdpConversation final : public Conversation {
 public:
  NdpConversation(Packets& packets, uint32_t number, const Parcel& parcel, const NdpRules& rules,
                  std::shared_ptr<PullPacer> pacer)
      : Conversation(packets, number, parcel),
        rules_(rules),
        pacer_(std::move(pacer)),
        credit_(rules.first_window),
        states_(count()),
        received_(count()) {
    NdpConversation::route_changed();
  }

  void route_changed() override {
    timeout_ = rules_.timeout > Duration()
                   ? rules_.timeout
                   : std::max(Duration::ms(1), longest_wait(route_, packets_.setup()));
  }

  void begin(Time now) override { packets_.ready(*this, now); }

  Offer next(Packet& packet, Time now) override {
    while (!again_.empty() && states_[again_.front()] != State::again) again_.pop_front();
    if (credit_ == 0 || (again_.empty() && next_ == count())) return Offer::nothing;
    --credit_;
    if (again_.empty()) {
      packet.number = next_++;
    } else {
      packet.number = again_.front();
      packet.is_again = true;
      again_.pop_front();
    }
    states_[packet.number] = State::under_way;
    ++under_way_;
    set_timer(now);
    return credit_ > 0 && (next_ < count() || !again_.empty()) ? Offer::more : Offer::last;
  }

  void at_receiver(const Packet& packet, Time now) override {
    Packet answer;
    answer.number = packet.number;
    if (packet.kind == PacketKind::question)
      answer.says = pulled;
    else
      answer.says = packet.is_trimmed ? cut : acknowledged;
    if (answer.says == acknowledged && received_.add(packet.number)) packets_.count_delivered();
    // A question is about pulls: one is owed if all have been heard of, and none waits.
    const bool is_owed = answer.says != pulled || (packet.value == pulls_ && pulls_waiting == 0);
    if (received_.has_all()) {
      pulls_waiting = 0;
      packets_.complete(*this, now);
      // A sender that asks does not know it: what it then sends again is acknowledged.
      if (packet.kind == PacketKind::question && packet.value == pulls_) ++pulls_;
    } else if (is_owed && pacer_->ask(*this, now)) {
      ++pulls_;
    }
    answer.value = pulls_;
    packets_.answer(*this, answer, now);
  }

  void at_sender(const Packet& packet, Time now) override {
    timeouts_ = 0;
    if (packet.kind == PacketKind::data) {  // a header that found no room
      note(packet.number, State::again);
      // Nobody will ask for it if nothing else is under way.
      if (under_way_ == 0 && credit_ == 0) credit_ = 1;
    } else {
      if (packet.says == acknowledged) note(packet.number, State::acknowledged);
      if (packet.says == cut) note(packet.number, State::again);
      if (acknowledged_ == count()) return packets_.finish(*this, now);
      hear_pulls(packet.value);
    }
    set_timer(now);
    if (credit_ > 0) packets_.ready(*this, now);
  }

  void on_timer(Time now) override {
    if (under_way_ == 0) return ask_for_pull(now);
    // Something was lost: what nothing was heard of is sent once more.
    packets_.count_timeout();
    if (++timeouts_ > most_doubled_timeouts) return packets_.finish(*this, now);
    for (uint32_t one = 0; one < next_; ++one)
      if (states_[one] == State::under_way) note(one, State::again);
    credit_ = std::max(credit_, 1U);
    packets_.ready(*this, now);
  }

  // ---- for the receiver's card
  uint32_t pulls_waiting = 0;
  Duration packet_time() const {
    return Duration::nearest_ps(route_.last_ps_per_B * packets_.setup().packet_B);
  }
  void send_pull(Time now) {
    Packet answer;
    answer.says = pulled;
    answer.value = ++pulls_;
    packets_.answer(*this, answer, now);
  }

 private:
  enum class State : uint8_t { not_sent, under_way, again, acknowledged };

  void note(uint32_t number, State state) {
    State& its = states_[number];
    if (its == State::acknowledged || its == state) return;
    if (its == State::under_way) --under_way_;
    its = state;
    if (state == State::again) again_.push_back(number);
    if (state == State::acknowledged) ++acknowledged_;
  }

  void hear_pulls(uint32_t pulls) {
    has_asked_ = false;
    if (pulls <= heard_pulls_) return;
    credit_ += pulls - heard_pulls_;
    heard_pulls_ = pulls;
    patience_ = 0;
  }

  // For packets under way; or for a pull, if there is something that waits for one.
  void set_timer(Time now) {
    if (under_way_ == 0 && credit_ > 0) return packets_.stop_timer(*this);
    const int doubled = timeouts_ + (under_way_ > 0 ? 0 : patience_);
    packets_.set_timer(*this,
                       now + timeout_ * (int64_t{1} << std::min(doubled, most_doubled_timeouts)));
  }

  // With many senders it may be long before it is this one's turn. A header asks whether it is in
  // line, in case that what says so was lost.
  void ask_for_pull(Time now) {
    if (has_asked_) {
      packets_.count_timeout();
      if (++timeouts_ > most_doubled_timeouts) return packets_.finish(*this, now);
    }
    has_asked_ = true;
    ++patience_;
    Packet question;
    question.value = heard_pulls_;
    packets_.ask(*this, question, now);
    set_timer(now);
  }

  const NdpRules& rules_;
  std::shared_ptr<PullPacer> pacer_;
  // The sender's.
  Duration timeout_;
  uint32_t credit_;
  uint32_t next_ = 0;
  uint32_t under_way_ = 0;      // packets of which nothing was heard
  std::vector<State> states_;   // of packets
  std::deque<uint32_t> again_;  // some may have been acknowledged after all
  uint32_t acknowledged_ = 0;
  uint32_t heard_pulls_ = 0;
  int timeouts_ = 0;        // in a row
  int patience_ = 0;        // questions since the last pull
  bool has_asked_ = false;  // and has no answer yet
  // The receiver's.
  Received received_;
  uint32_t pulls_ = 0;  // sent
};

bool PullPacer::ask(NdpConversation& conversation, Time now) {
  const int worker = conversation.parcel().to;
  Card& its = card(worker);
  if (its.waiting.empty() && its.free <= now) {
    its.free = now + conversation.packet_time();
    return true;
  }
  if (conversation.pulls_waiting++ == 0) its.waiting.push_back(conversation.number());
  if (!its.is_planned) {
    its.is_planned = true;
    packets_->plan_pull(worker, std::max(now, its.free));
  }
  return false;
}

void PullPacer::pull(int worker, Time now) {
  Card& its = card(worker);
  its.is_planned = false;
  while (!its.waiting.empty()) {
    auto* conversation =
        dynamic_cast<NdpConversation*>(packets_->conversation(its.waiting.front()));
    const uint32_t number = its.waiting.front();
    its.waiting.pop_front();
    if (conversation == nullptr || conversation->pulls_waiting == 0 ||
        conversation->parcel().to != worker)
      continue;
    if (--conversation->pulls_waiting > 0) its.waiting.push_back(number);
    its.free = now + conversation->packet_time();
    conversation->send_pull(now);
    break;
  }
  if (its.waiting.empty()) return;
  its.is_planned = true;
  packets_->plan_pull(worker, its.free);
}

void defaults(PacketSetup& setup) {
  setup.packet_B = 9064;
  setup.header_B = 64;
  setup.spray = Spray::permuted;
  setup.queues.rule = QueueRule::trim;
}

struct Options {
  uint32_t first_window = 30;
  std::optional<Duration> timeout;
  uint32_t queue = 8;
  uint32_t headers_in_turn = 10;
};

Fields fields_of(Options& o) {
  return {Field("first_window", o.first_window, "packets that are sent without being asked for")
              .from(1U, most_packets),
          Field("timeout", o.timeout, "time until a sender that hears nothing sends again")
              .also(check_some_time)
              .otherwise("by the route"),
          Field("queue", o.queue, "packets of data in a port above which others are cut")
              .from(1U, most_packets),
          Field("headers_in_turn", o.headers_in_turn, "headers that a port sends for each packet")
              .from(1U, most_packets)};
}

void read(Object& fields, const std::vector<double>&, PacketSetup& setup) {
  if (setup.queues.port_limit_B != QueueRules::no_limit ||
      setup.queues.queue_limit_B.front() != QueueRules::no_limit)
    fields.value().fail("the length of ndp's queues is `queue`, in packets");
  constexpr uint32_t least_packet_B = 64;
  if (setup.packet_B < least_packet_B)
    fields.value().fail("a packet of ndp has 64 B at least, as the header that may be left of it");
  const auto options = read_record<Options>(fields);
  const NdpRules rules{options.first_window, options.timeout.value_or(Duration())};
  setup.queues.trim_above = options.queue;
  setup.queues.headers_in_turn = options.headers_in_turn;
  const uint64_t headers_B = uint64_t{setup.queues.trim_above} * setup.packet_B;
  setup.queues.queue_limit_B = QueueRules::filled(headers_B);
  const auto shared = std::make_shared<const NdpRules>(rules);
  setup.transport = [shared]() -> PacketSetup::Connect {
    const auto pacer = std::make_shared<PullPacer>();
    return [shared, pacer](Packets& packets, uint32_t number, const Parcel& parcel) {
      pacer->prepare(packets);
      return std::make_unique<NdpConversation>(packets, number, parcel, *shared, pacer);
    };
  };
}

}  // namespace

Transport describe() {
  return {"ndp", "receivers pull packets; full queues cut data down to headers", defaults,
          options_of<Options>, read};
}

}  // namespace sgdsim::transport::ndp
