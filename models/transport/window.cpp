// One answer at a time.
#include "models/transport/window.h"

#include <algorithm>
#include <cmath>

#include "models/transport/transport.h"

namespace sgdsim {
namespace {

constexpr int most_even_timeouts = 10'000;  // in a row; then the sender gives up
constexpr double least_window = 1;

}  // namespace

WindowConversation::WindowConversation(Packets& packets, uint32_t number, const Parcel& parcel,
                                       std::shared_ptr<const WindowRules> rules)
    : Conversation(packets, number, parcel),
      rules_(std::move(rules)),
      window_(rules_->first_window),
      acknowledged_(count()),
      alpha_(rules_->first_alpha),
      received_(count()) {
  const double full_B = packets.setup().packet_B;
  own_trip_ = round_trip(route_, full_B, packets.setup().answer_B);
  if (window_ <= 0)
    window_ = std::max(1.0, std::ceil(static_cast<double>(own_trip_.ps()) /
                                      std::max(1.0, route_.ps_per_B * full_B)));
  full_window_ = window_;
}

void WindowConversation::choose_queue() {
  while (queue + 1U < packet_queues && queue <= rules_->lower_after_B.size() &&
         sent_B_ >= rules_->lower_after_B[queue - 1U])
    ++queue;
}

Conversation::Offer WindowConversation::next(Packet& packet, Time now) {
  if (!may_send()) return Offer::nothing;
  if (!again_.empty()) {
    packet.number = *again_.begin();
    packet.is_again = true;
    packet.may_be_marked = rules_->marks_again;
    again_.erase(again_.begin());
  } else {
    packet.number = next_++;
  }
  packet.queue = queue;
  sent_B_ += payload_B(packet.number);
  choose_queue();
  if (rules_->says_what_is_left) packet.value = count() - acknowledged_.count();
  if (in_flight_++ == 0) packets_.set_timer(*this, now + timeout());
  return may_send() ? Offer::more : Offer::last;
}

void WindowConversation::at_receiver(const Packet& packet, Time now) {
  if (received_.add(packet.number)) packets_.count_delivered();
  Packet answer;
  answer.number = packet.number;
  answer.sent = packet.sent;
  answer.says = packet.is_marked ? 1 : 0;
  packets_.answer(*this, answer, now);
  if (received_.has_all()) packets_.complete(*this, now);
}

Duration WindowConversation::timeout() const {
  Duration length = rules_->least_timeout;
  if (rules_->timeout_round_trips > 0)
    length = own_trip_ * rules_->timeout_round_trips;
  else if (!rules_->is_timeout_fixed && srtt_ > Duration())
    length = std::max(length, srtt_ + 4 * rttvar_);
  if (!rules_->doubles) return length;
  for (int i = 0; i < timeouts_ && length < rules_->most_timeout; ++i) length += length;
  return std::min(length, std::max(rules_->most_timeout, rules_->least_timeout));
}

// RFC 6298.
void WindowConversation::sample(Duration round_trip) {
  if (srtt_ == Duration()) {
    srtt_ = round_trip;
    rttvar_ = Duration::ps(round_trip.ps() / 2);
    return;
  }
  const int64_t off = std::abs((srtt_ - round_trip).ps());
  rttvar_ = Duration::ps((3 * rttvar_.ps() + off) / 4);
  srtt_ = Duration::ps((7 * srtt_.ps() + round_trip.ps()) / 8);
}

// Once for each window of packets that were sent.
void WindowConversation::react_to_mark(bool is_marked) {
  ++in_window_;
  marked_ += is_marked ? 1 : 0;
  if (is_marked && acknowledged_.first_missing() >= reduced_until_) {
    window_ = std::max(least_window, window_ * (1 - alpha_ / 2));
    threshold_ = window_;
    reduced_until_ = next_;
  }
  if (acknowledged_.first_missing() < window_ends_) return;
  alpha_ += rules_->gain * (static_cast<double>(marked_) / in_window_ - alpha_);
  in_window_ = marked_ = 0;
  window_ends_ = next_;
}

void WindowConversation::grow() {
  if (rules_->is_fixed || recovers_ || acknowledged_.first_missing() < reduced_until_) return;
  window_ += window_ < threshold_ ? 1 : 1 / window_;
}

void WindowConversation::look_for_losses() {
  if (rules_->lost_after == 0) return;
  for (; looked_at_ + rules_->lost_after <= highest_; ++looked_at_) {
    if (acknowledged_.has(looked_at_) || again_.contains(looked_at_)) continue;
    again_.insert(looked_at_);
    --in_flight_;
    if (recovers_) continue;
    recovers_ = true;
    recovers_until_ = next_;
    if (rules_->is_fixed) continue;
    window_ = threshold_ = std::max(2.0, window_ / 2);
  }
}

void WindowConversation::at_sender(const Packet& packet, Time now) {
  if (!acknowledged_.add(packet.number)) return;
  if (again_.erase(packet.number) == 0) --in_flight_;
  highest_ = std::max(highest_, packet.number);
  timeouts_ = 0;
  if (rules_->is_fixed) window_ = full_window_;
  sample(now - packet.sent);
  if (acknowledged_.has_all()) return packets_.finish(*this, now);
  if (recovers_ && acknowledged_.first_missing() >= recovers_until_) recovers_ = false;
  if (rules_->reacts_to_marks) react_to_mark(packet.says != 0);
  grow();
  look_for_losses();
  if (in_flight_ > 0)
    packets_.set_timer(*this, now + timeout());
  else
    packets_.stop_timer(*this);
  if (may_send()) packets_.ready(*this, now);
}

// Nothing was heard: all that is not acknowledged is sent again.
void WindowConversation::on_timer(Time now) {
  packets_.count_timeout();
  if (++timeouts_ > (rules_->doubles ? most_doubled_timeouts : most_even_timeouts))
    return packets_.finish(*this, now);
  for (uint32_t one = acknowledged_.first_missing(); one < next_; ++one)
    if (!acknowledged_.has(one)) again_.insert(one);
  in_flight_ = 0;
  looked_at_ = next_;
  recovers_ = false;
  constexpr int to_probe_after = 5;
  if (!rules_->is_fixed) {
    threshold_ = std::max(2.0, window_ / 2);
    window_ = least_window;
  } else if (timeouts_ == to_probe_after) {
    window_ = least_window;  // until something is heard
  }
  packets_.ready(*this, now);
}

}  // namespace sgdsim
