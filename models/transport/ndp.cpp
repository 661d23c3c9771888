// NDP (Handley et al., SIGCOMM 2017): a first window at line rate, then one packet for each that
// the receiver pulls; full queues cut data down to headers, which tell the receiver what to ask
// for.
#include <deque>
#include <memory>
#include <vector>

#include "models/transport/received.h"
#include "models/transport/registry.h"

namespace sgdsim::transport::ndp {
namespace {

enum Says : uint8_t { nothing, acknowledged, cut, pulled };

struct NdpRules {
  uint32_t first_window = 30;
  Duration timeout = Duration::ms(1);
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

class NdpConversation final : public Conversation {
 public:
  NdpConversation(Packets& packets, uint32_t number, const Parcel& parcel, const NdpRules& rules,
                  std::shared_ptr<PullPacer> pacer)
      : Conversation(packets, number, parcel),
        rules_(rules),
        pacer_(std::move(pacer)),
        credit_(rules.first_window),
        acknowledged_(count()),
        received_(count()),
        is_again_(count()) {}

  void begin(Time now) override { packets_.ready(*this, now); }

  Offer next(Packet& packet, Time now) override {
    while (!again_.empty() && acknowledged_.has(again_.front())) again_.pop_front();
    if (credit_ == 0 || (again_.empty() && next_ == count())) return Offer::nothing;
    --credit_;
    ++under_way_;
    packets_.set_timer(*this, now + rules_.timeout * (int64_t{1} << timeouts_));
    if (again_.empty()) {
      packet.number = next_++;
    } else {
      packet.number = again_.front();
      packet.is_again = true;
      again_.pop_front();
      is_again_[packet.number] = false;
    }
    return credit_ > 0 && (next_ < count() || !again_.empty()) ? Offer::more : Offer::last;
  }

  void at_receiver(const Packet& packet, Time now) override {
    if (!packet.is_trimmed && received_.add(packet.number)) packets_.count_delivered();
    Packet answer;
    answer.number = packet.number;
    answer.says = packet.is_trimmed ? cut : acknowledged;
    if (received_.has_all()) {
      pulls_waiting = 0;
      packets_.complete(*this, now);
    } else if (pacer_->ask(*this, now)) {
      ++pulls_;
    }
    answer.value = pulls_;
    packets_.answer(*this, answer, now);
  }

  void at_sender(const Packet& packet, Time now) override {
    timeouts_ = 0;
    if (packet.kind == PacketKind::data) {  // a header that found no room
      if (under_way_ > 0) --under_way_;
      to_send_again(packet.number);
      // Nobody will ask for it if nothing else is under way.
      if (under_way_ == 0 && credit_ == 0) credit_ = 1;
    } else {
      if (packet.says != pulled && under_way_ > 0) --under_way_;
      if (packet.says == acknowledged) acknowledged_.add(packet.number);
      if (packet.says == cut) to_send_again(packet.number);
      if (acknowledged_.has_all()) return packets_.finish(*this, now);
      if (packet.value > heard_pulls_) credit_ += packet.value - heard_pulls_;
      heard_pulls_ = std::max(heard_pulls_, packet.value);
    }
    packets_.set_timer(*this, now + rules_.timeout);
    if (credit_ > 0) packets_.ready(*this, now);
  }

  // Something was lost: whatever is not acknowledged is sent once more.
  void on_timer(Time now) override {
    packets_.count_timeout();
    if (++timeouts_ > most_doubled_timeouts) return packets_.finish(*this, now);
    for (uint32_t one = acknowledged_.first_missing(); one < next_; ++one)
      if (!acknowledged_.has(one)) to_send_again(one);
    under_way_ = 0;
    credit_ = std::max(credit_, 1U);
    packets_.set_timer(*this, now + rules_.timeout * (int64_t{1} << timeouts_));
    packets_.ready(*this, now);
  }

  // ---- for the receiver's card
  uint32_t pulls_waiting = 0;
  Duration packet_time() const {
    return Duration::nearest_ps(route_.last_ps_per_B * packets_.setup().packet_B);
  }
  bool is_complete() const { return received_.has_all(); }
  void send_pull(Time now) {
    Packet answer;
    answer.says = pulled;
    answer.value = ++pulls_;
    packets_.answer(*this, answer, now);
  }

 private:
  void to_send_again(uint32_t number) {
    if (is_again_[number] || acknowledged_.has(number)) return;
    is_again_[number] = true;
    again_.push_back(number);
  }

  const NdpRules& rules_;
  std::shared_ptr<PullPacer> pacer_;
  // The sender's.
  uint32_t credit_;
  uint32_t next_ = 0;
  uint32_t under_way_ = 0;  // packets of which nothing was heard
  std::deque<uint32_t> again_;
  uint32_t heard_pulls_ = 0;
  Received acknowledged_;
  int timeouts_ = 0;
  // The receiver's.
  Received received_;
  uint32_t pulls_ = 0;  // sent
  std::vector<bool> is_again_;
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

void read(Object& fields, const std::vector<double>&, PacketSetup& setup) {
  if (setup.queues.port_limit_B != QueueRules::no_limit ||
      setup.queues.queue_limit_B.front() != QueueRules::no_limit)
    fields.value().fail("the room of ndp's queues is `queue`, in packets");
  constexpr uint32_t least_packet_B = 64;
  if (setup.packet_B < least_packet_B)
    fields.value().fail("a packet of ndp has 64 B at least, as the header that may be left of it");
  NdpRules rules;
  rules.first_window = read_count(fields, "first_window", 1, rules.first_window);
  rules.timeout = read_length(fields, "timeout", rules.timeout);
  setup.queues.trim_above = read_count(fields, "queue", 1, 8);
  setup.queues.headers_in_turn = read_count(fields, "headers_in_turn", 1, 10);
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
  return {"ndp", "receivers pull packets; full queues cut data down to headers", defaults, read};
}

}  // namespace sgdsim::transport::ndp
