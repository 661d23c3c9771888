// One answer at a time.
#include "models/transport/window.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "models/transport/transport.h"

namespace sgdsim {
namespace {

constexpr int most_even_timeouts = 10'000;  // in a row; then the sender gives up
constexpr double least_window = 1;
constexpr double most_window = 1e9;
constexpr std::size_t most_sizes = std::size_t{1} << 20;  // that are remembered

}  // namespace

// ---- connections

WindowConnection::WindowConnection(Packets& packets, const WindowRules& rules,
                                   const RouteFacts& route)
    : packets_(packets), rules_(rules) {
  know(route);
  begin_anew();
}

void WindowConnection::know(const RouteFacts& route) {
  const double full_B = packets_.setup().packet_B;
  own_trip_ = round_trip(route, full_B, packets_.setup().answer_B);
  full_window_ = rules_.first_window;
  if (full_window_ <= 0)
    full_window_ = std::max(1.0, std::ceil(static_cast<double>(own_trip_.ps()) /
                                           std::max(1.0, route.ps_per_B * full_B)));
  full_window_ = std::min(full_window_, most_window);
  if (rules_.is_fixed) window_ = full_window_;
}

// Nothing is known, and nothing is under way.
void WindowConnection::begin_anew() {
  sent_.clear();
  base_ = first_ = looked_at_ = highest_ = next_;
  recovers_until_ = window_ends_ = reduced_until_ = use_counts_until_ = next_;
  in_flight_ = in_window_ = marked_ = most_in_flight_ = 0;
  recovers_ = is_limit_ = false;
  window_ = full_window_;
  threshold_ = std::numeric_limits<double>::infinity();
  alpha_ = rules_.first_alpha;
  srtt_ = rttvar_ = Duration();
  timeouts_ = 0;
}

void WindowConnection::begin(WindowConversation& message) {
  message.order_ = begun_++;
  messages_[message.order_] = &message;
}

// It may wait for packets that are to be sent again but were heard of after all.
void WindowConnection::end(WindowConversation& message) {
  messages_.erase(message.order_);
  // There may be a connection for every pair of workers: what it needs no more is given back.
  if (messages_.empty()) std::vector<Sent>().swap(sent_);
  if (!message.is_waiting_) return;
  message.is_waiting_ = false;
  for (Line& line : waiting_) {
    WindowConversation* before = nullptr;
    for (WindowConversation* one = line.first; one != nullptr; one = one->next_waiting_) {
      if (one == &message) {
        (before == nullptr ? line.first : before->next_waiting_) = message.next_waiting_;
        if (line.last == &message) line.last = before;
        return;
      }
      before = one;
    }
  }
}

void WindowConnection::wait(WindowConversation& message) {
  if (message.is_waiting_) return;
  message.is_waiting_ = true;
  message.next_waiting_ = nullptr;
  Line& line = waiting_[message.queue];
  (line.last == nullptr ? line.first : line.last->next_waiting_) = &message;
  line.last = &message;
}

// As many as there is room for packets.
void WindowConnection::let_in(Time now) {
  uint32_t room = has_room() ? static_cast<uint32_t>(window_) - in_flight_ : 0;
  for (Line& line : waiting_)
    for (; room > 0 && line.first != nullptr; --room) {
      WindowConversation& message = *line.first;
      line.first = message.next_waiting_;
      if (line.first == nullptr) line.last = nullptr;
      message.is_waiting_ = false;
      packets_.ready(message, now);
    }
}

uint64_t WindowConnection::send(WindowConversation& message, uint32_t packet, Time now) {
  if (in_flight_ == 0 && first_ == next_) restart_after_idle(now);
  sent_.push_back({&message, packet, State::under_way});
  last_sent_ = now;
  const uint64_t place = next_++;
  if (in_flight_++ == 0) set_timer(now);
  note_use();
  return place;
}

void WindowConnection::send_again(uint64_t place, Time now) {
  sent_at(place).state = State::under_way;
  last_sent_ = now;
  if (in_flight_++ == 0) set_timer(now);
  note_use();
}

// What Linux does (tcp_cwnd_restart): half of the window is forgotten for each timeout.
void WindowConnection::restart_after_idle(Time now) {
  if (!rules_.slow_start_after_idle || rules_.is_fixed || next_ == 0) return;
  const double least = std::min(full_window_, window_);
  const double before = window_;
  Duration idle = now - last_sent_;
  for (const Duration length = timeout(); idle > length && window_ > least; idle -= length)
    window_ = std::max(least, window_ / 2);
  if (window_ < before) threshold_ = std::max(threshold_, before * 3 / 4);
}

// As Linux (tcp_cwnd_validate): the most that was under way, since the window was last full or for
// a window of packets.
void WindowConnection::note_use() {
  const bool is_full = !has_room();
  if (first_ < use_counts_until_ && !is_full && (is_limit_ || in_flight_ <= most_in_flight_))
    return;
  is_limit_ = is_full;
  most_in_flight_ = in_flight_;
  use_counts_until_ = next_;
}

Duration WindowConnection::timeout() const {
  Duration length = rules_.least_timeout;
  if (rules_.timeout_round_trips > 0)
    length = own_trip_ * rules_.timeout_round_trips;
  else if (!rules_.is_timeout_fixed && srtt_ > Duration())
    length = std::max(length, srtt_ + 4 * rttvar_);
  if (!rules_.doubles) return length;
  for (int i = 0; i < timeouts_ && length < rules_.most_timeout; ++i) length += length;
  return std::min(length, std::max(rules_.most_timeout, rules_.least_timeout));
}

// RFC 6298.
void WindowConnection::sample(Duration round_trip) {
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
void WindowConnection::react_to_mark(bool is_marked) {
  ++in_window_;
  marked_ += is_marked ? 1 : 0;
  if (is_marked && first_ >= reduced_until_) {
    window_ = std::max(least_window, window_ * (1 - alpha_ / 2));
    threshold_ = window_;
    reduced_until_ = next_;
  }
  if (first_ < window_ends_) return;
  alpha_ += rules_.gain * (static_cast<double>(marked_) / in_window_ - alpha_);
  in_window_ = marked_ = 0;
  window_ends_ = next_;
}

void WindowConnection::grow() {
  if (rules_.is_fixed || recovers_ || first_ < reduced_until_) return;
  const bool starts = window_ < threshold_;
  if (!is_limit_ && (!starts || window_ >= 2.0 * most_in_flight_)) return;
  window_ += starts ? 1 : 1 / window_;
}

void WindowConnection::lose(uint64_t place) {
  Sent& one = sent_at(place);
  if (one.state != State::under_way) return;
  one.state = State::again;
  --in_flight_;
  one.message->again_.insert(place);
  wait(*one.message);
}

void WindowConnection::look_for_losses() {
  if (rules_.lost_after == 0) return;
  for (; looked_at_ + rules_.lost_after <= highest_; ++looked_at_) {
    if (looked_at_ < first_ || sent_at(looked_at_).state != State::under_way) continue;
    lose(looked_at_);
    if (recovers_) continue;
    recovers_ = true;
    recovers_until_ = next_;
    if (!rules_.is_fixed) window_ = threshold_ = std::max(2.0, window_ / 2);
  }
}

void WindowConnection::pass_what_is_heard() {
  while (first_ < next_ && sent_at(first_).state == State::heard) ++first_;
  constexpr uint64_t few = 64;
  const uint64_t passed = first_ - base_;
  if (first_ == next_)
    sent_.clear();
  else if (passed > few && 2 * passed > sent_.size())
    sent_.erase(sent_.begin(), sent_.begin() + static_cast<std::ptrdiff_t>(passed));
  else
    return;
  base_ = first_;
}

bool WindowConnection::hear(const Packet& answer, Time now) {
  if (answer.place < first_) return false;
  Sent& one = sent_at(answer.place);
  if (one.state == State::heard) return false;
  if (one.state == State::under_way)
    --in_flight_;
  else
    one.message->again_.erase(answer.place);
  one.state = State::heard;
  highest_ = std::max(highest_, answer.place);
  timeouts_ = 0;
  if (rules_.is_fixed) window_ = full_window_;
  sample(now - answer.sent);
  pass_what_is_heard();
  if (recovers_ && first_ >= recovers_until_) recovers_ = false;
  if (rules_.reacts_to_marks) react_to_mark(answer.says != 0);
  grow();
  look_for_losses();
  return true;
}

// It is the timer of the message whose packet has been under way for longest.
void WindowConnection::set_timer(Time now) {
  WindowConversation* const whose = in_flight_ > 0 ? sent_at(first_).message : nullptr;
  if (timer_ != nullptr && timer_ != whose) packets_.stop_timer(*timer_);
  timer_ = whose;
  if (timer_ != nullptr) packets_.set_timer(*timer_, now + timeout());
}

void WindowConnection::go_on(Time now) {
  set_timer(now);
  let_in(now);
}

// Nothing was heard: all that is not acknowledged is sent again.
void WindowConnection::time_out(Time now) {
  packets_.count_timeout();
  if (++timeouts_ > (rules_.doubles ? most_doubled_timeouts : most_even_timeouts))
    return give_up(now);
  for (uint64_t place = first_; place < next_; ++place) lose(place);
  looked_at_ = next_;
  recovers_ = false;
  constexpr int to_probe_after = 5;
  if (!rules_.is_fixed) {
    threshold_ = std::max(2.0, window_ / 2);
    window_ = least_window;
  } else if (timeouts_ == to_probe_after) {
    window_ = least_window;  // until something is heard
  }
  go_on(now);
}

// The connection is broken, with all that is in it.
void WindowConnection::give_up(Time now) {
  for (const auto& [order, message] : messages_) {
    message->is_waiting_ = false;
    message->again_.clear();
    packets_.finish(*message, now);
  }
  messages_.clear();
  waiting_ = {};
  timer_ = nullptr;
  begin_anew();
}

// ---- messages

WindowConversation::WindowConversation(Packets& packets, uint32_t number, const Parcel& parcel,
                                       std::shared_ptr<const WindowRules> rules,
                                       std::shared_ptr<WindowConnections> connections)
    : Conversation(packets, number, parcel),
      rules_(std::move(rules)),
      connections_(std::move(connections)),
      received_(count()) {
  std::vector<double>& sizes_B = connections_->sizes_B;
  if (!rules_->lower_after_of || sizes_B.size() == most_sizes) return;
  sizes_B.push_back(parcel.size_B);
  // Whenever there are twice as many.
  if ((sizes_B.size() & (sizes_B.size() - 1)) == 0)
    connections_->lower_after_B = rules_->lower_after_of(sizes_B);
}

// Of the connections of its pair, the one with the fewest messages.
WindowConnection& WindowConversation::choose_connection() {
  if (rules_->connections == 0) {
    own_ = std::make_unique<WindowConnection>(packets_, *rules_, route_);
    return *own_;
  }
  auto& known = connections_->of_pairs[{parcel().from, parcel().to}];
  const auto fewest =
      std::min_element(known.begin(), known.end(),
                       [](const auto& a, const auto& b) { return a->messages() < b->messages(); });
  if (fewest != known.end() &&
      ((*fewest)->messages() == 0 || known.size() == rules_->connections)) {
    (*fewest)->know(route_);
    return **fewest;
  }
  known.push_back(std::make_unique<WindowConnection>(packets_, *rules_, route_));
  return *known.back();
}

void WindowConversation::begin(Time now) {
  connection_ = &choose_connection();
  connection_->begin(*this);
  packets_.ready(*this, now);
}

void WindowConversation::choose_queue() {
  const std::vector<double>& lower_after_B =
      rules_->lower_after_of ? connections_->lower_after_B : rules_->lower_after_B;
  while (queue + 1U < packet_queues && queue <= lower_after_B.size() &&
         sent_B_ >= lower_after_B[queue - 1U])
    ++queue;
}

Conversation::Offer WindowConversation::next(Packet& packet, Time now) {
  if (!has_data()) {
    connection_->let_in(now);  // it was its turn: others may use it
    return Offer::nothing;
  }
  if (!connection_->has_room()) {
    connection_->wait(*this);
    return Offer::nothing;
  }
  packet.queue = queue;
  if (!again_.empty()) {
    packet.place = *again_.begin();
    packet.number = connection_->packet_at(packet.place);
    packet.is_again = true;
    packet.may_be_marked = rules_->marks_again;
    again_.erase(again_.begin());
    connection_->send_again(packet.place, now);
  } else {
    packet.number = next_++;
    packet.place = connection_->send(*this, packet.number, now);
  }
  sent_B_ += payload_B(packet.number);
  choose_queue();
  if (rules_->says_what_is_left) packet.value = count() - heard_;
  if (!has_data()) return Offer::last;
  if (connection_->has_room()) return Offer::more;
  connection_->wait(*this);
  return Offer::last;
}

void WindowConversation::at_receiver(const Packet& packet, Time now) {
  if (received_.add(packet.number)) packets_.count_delivered();
  Packet answer;
  answer.number = packet.number;
  answer.place = packet.place;
  answer.sent = packet.sent;
  answer.says = packet.is_marked ? 1 : 0;
  packets_.answer(*this, answer, now);
  if (received_.has_all()) packets_.complete(*this, now);
}

void WindowConversation::at_sender(const Packet& packet, Time now) {
  if (!connection_->hear(packet, now)) return;
  if (++heard_ == count()) {
    connection_->end(*this);
    packets_.finish(*this, now);
  }
  connection_->go_on(now);
}

}  // namespace sgdsim
