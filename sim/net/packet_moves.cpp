// From card to port, from port to port: each packet on its way.
#include <algorithm>

#include "sim/core/cast.h"
#include "sim/core/prefetch.h"
#include "sim/net/packets.h"

namespace sgdsim {
namespace {

constexpr std::size_t needed_port_B = 128;        // its first lines
constexpr std::size_t most_conversation_B = 512;  // about as much as that of any transport
constexpr uint32_t looks_from = 2;  // versions of `pauses`: go on, wait, and looks at long waits

}  // namespace

// ---- what is fetched into the cache before it happens

void Packets::fetch_subject(const Event& event) const {
  if (event.kind() == frees) return prefetch(&ports_[event.subject()], needed_port_B);
  if (event.kind() != arrives) return;
  prefetch(pool_[event.subject()]);
  if (event.version() < at_its_end) prefetch(&ports_[event.version()], needed_port_B);
}

// When its subject is there.
void Packets::fetch_what_it_meets(const Event& event) const {
  if (event.kind() == frees) {
    const PacketPort& port = ports_[event.subject()];
    if (port.filled != 0) {
      const auto queue = static_cast<std::size_t>(std::countr_zero(port.filled));
      return prefetch(pool_[port.queues[queue].first]);
    }
    if (port.card < 0 || cards_[at(port.card)].filled == 0) return;
    const Card& card = cards_[at(port.card)];
    const auto queue = static_cast<std::size_t>(std::countr_zero(card.filled));
    prefetch(conversations_[card.first[queue]].get(), most_conversation_B);
  } else if (event.kind() == arrives && event.version() == at_its_end) {
    prefetch(conversations_[pool_[event.subject()].conversation].get(), most_conversation_B);
  }
}

// ---- cards

void Packets::ready(Conversation& conversation, Time now) {
  if (conversation.is_ready_ || conversation.is_finished_) return;
  put_in_line(conversation, now);
}

void Packets::put_in_line(Conversation& conversation, Time now) {
  conversation.way_ = draw_way(conversation, true);
  const Parcel& parcel = conversation.parcel_;
  const uint32_t number = next_road(vertex_of_[at(parcel.from)], parcel.to, conversation.way_);
  if (number == no_road) {
    if (!conversation.is_unrouted_) unrouted_.push_back(conversation.number_);
    conversation.is_unrouted_ = true;
    return;
  }
  Card& card = cards_[at(ports_[number].card)];
  const uint32_t last = card.last[conversation.queue];
  if (last == Packet::none)
    card.first[conversation.queue] = conversation.number_;
  else
    conversations_[last]->next_ready_ = conversation.number_;
  card.last[conversation.queue] = conversation.number_;
  conversation.next_ready_ = Packet::none;
  conversation.is_ready_ = true;
  card.filled = static_cast<uint8_t>(card.filled | (1U << conversation.queue));
  nudge(number, now);
}

void Packets::ask_conversation(uint32_t number, Time now) {
  Card& card = cards_[at(ports_[number].card)];
  const auto queue = static_cast<std::size_t>(std::countr_zero(card.filled));
  Conversation& conversation = *conversations_[card.first[queue]];
  card.first[queue] = conversation.next_ready_;
  if (card.first[queue] == Packet::none) {
    card.last[queue] = Packet::none;
    card.filled = static_cast<uint8_t>(card.filled & ~(1U << queue));
  }
  conversation.is_ready_ = false;
  Packet packet;
  packet.queue = conversation.queue;
  const Conversation::Offer offer =
      conversation.is_finished_ ? Conversation::Offer::nothing : conversation.next(packet, now);
  if (offer == Conversation::Offer::nothing) {
    maybe_over_.push_back(conversation.number_);
    return;
  }
  packet.way = conversation.way_;
  count_sent(conversation, packet, now);
  transmit(number, pool_.add(packet), now);
  if (!packet.is_again && ++conversation.first_sent_ == conversation.count_ &&
      !conversation.has_left_ && !conversation.holds_sender)
    plan(left, conversation.number_, ports_[number].busy_until);
  if (offer == Conversation::Offer::more) put_in_line(conversation, now);
}

// What every packet of data says when it leaves.
void Packets::count_sent(Conversation& conversation, Packet& packet, Time now) {
  packet.conversation = conversation.number_;
  packet.to = conversation.parcel_.to;
  packet.end = vertex_of_[at(packet.to)];
  packet.road = no_road;
  packet.size_B = setup_.header_B + conversation.payload_B(packet.number);
  packet.sent = now;
  ++counts_.sent;
  if (packet.is_again) ++counts_.sent_again;
  ++conversation.in_network_;
}

// The road by which its next packet leaves its sender, and its way behind that.
uint32_t Packets::card_road(Conversation& conversation) {
  conversation.way_ = draw_way(conversation, true);
  const Parcel& parcel = conversation.parcel_;
  return next_road(vertex_of_[at(parcel.from)], parcel.to, conversation.way_);
}

void Packets::hand_over(Conversation& conversation, Time now) {
  if (++conversation.first_sent_ == conversation.count_ && !conversation.has_left_)
    plan(left, conversation.number_, now);
  add_run(conversation, 1, now);
}

void Packets::add_run(Conversation& conversation, uint32_t packets, Time now) {
  const uint32_t number = card_road(conversation);
  if (number == no_road) {
    conversation.without_way_ += packets;
    if (!conversation.is_unrouted_) unrouted_.push_back(conversation.number_);
    conversation.is_unrouted_ = true;
    return;
  }
  std::deque<Run>& runs = cards_[at(ports_[number].card)].runs;
  if (!runs.empty() && runs.back().conversation == conversation.number_)
    runs.back().packets += packets;
  else
    runs.push_back({conversation.number_, packets});
  nudge(number, now);
}

// Ways may have changed since it was handed over.
void Packets::send_of_run(uint32_t number, Time now) {
  std::deque<Run>& runs = cards_[at(ports_[number].card)].runs;
  const Run run = runs.front();
  Conversation& conversation = *conversations_[run.conversation];
  if (card_road(conversation) != number) {
    runs.pop_front();
    return add_run(conversation, run.packets, now);
  }
  if (--runs.front().packets == 0) runs.pop_front();
  Packet packet;
  packet.queue = conversation.queue;
  packet.number = conversation.left_card_++;
  packet.way = conversation.way_;
  count_sent(conversation, packet, now);
  transmit(number, pool_.add(packet), now);
}

void Packets::answer(Conversation& conversation, const Packet& packet, Time now) {
  dispatch(conversation, packet, PacketKind::answer, now);
}

void Packets::ask(Conversation& conversation, const Packet& packet, Time now) {
  dispatch(conversation, packet, PacketKind::question, now);
}

void Packets::owe(Conversation& conversation, double size_B, Time now) {
  const Parcel& parcel = conversation.parcel_;
  uint32_t way = draw_way(conversation, false);
  const uint32_t number = next_road(vertex_of_[at(parcel.to)], parcel.from, way);
  if (number == no_road) return;
  PacketPort& port = ports_[number];
  if (port.busy_until > now) port.owed_B += static_cast<float>(size_B);
}

void Packets::dispatch(Conversation& conversation, const Packet& what, PacketKind kind, Time now) {
  const Parcel& parcel = conversation.parcel_;
  Packet packet = what;
  packet.kind = kind;
  packet.is_back = kind == PacketKind::answer;
  packet.conversation = conversation.number_;
  packet.queue = 0;
  packet.way = draw_way(conversation, false);
  packet.road = no_road;
  packet.may_be_marked = packet.is_marked = packet.is_trimmed = false;
  if (packet.size_B == 0) packet.size_B = setup_.answer_B;
  packet.to = packet.is_back ? parcel.from : parcel.to;
  packet.end = vertex_of_[at(packet.to)];
  ++counts_.answers;
  ++conversation.in_network_;
  forward(pool_.add(packet), vertex_of_[at(packet.is_back ? parcel.to : parcel.from)], now);
}

// ---- ports

uint32_t Packets::next_road(int vertex, int worker, uint32_t& digits) {
  const Goal& goal = goals_[at(worker)];
  uint32_t road = junctions_[at(vertex)].only_road;
  if (vertex == goal.vertex && goal.last != no_road) road = goal.last;
  if (road != no_road) return has_closed_ && !roads_.is_open(road) ? no_road : road;
  const uint32_t entry = entry_at(vertex, goal);
  if ((entry & is_road) != 0) return entry & ~is_road;
  const Choice choice = choices_[entry];
  if (choice.count == 0) return no_road;
  const uint32_t chosen = digits % choice.count;
  digits /= choice.count;
  return choice_roads_[choice.first + chosen];
}

// The port may have something to do.
void Packets::nudge(uint32_t number, Time now) {
  PacketPort& port = ports_[number];
  if (port.is_planned || port.is_paused) return;
  if (port.busy_until <= now) return go_on(number, now);
  port.is_planned = true;
  plan(frees, number, port.busy_until);
}

void Packets::go_on(uint32_t number, Time now) {
  PacketPort& port = ports_[number];
  if (port.is_paused) return;
  port.is_planned = true;  // nobody else is to start it
  // More than once where packets take no time.
  while (port.busy_until <= now) {
    const std::size_t queue = ports_.next_queue(port);
    const bool has_runs = port.card >= 0 && !cards_[at(port.card)].runs.empty();
    if (has_runs && queue == packet_queues) {
      send_of_run(number, now);
      continue;
    }
    const uint8_t waiting = port.card >= 0 ? cards_[at(port.card)].filled : uint8_t{0};
    const auto line =
        waiting != 0 ? static_cast<std::size_t>(std::countr_zero(waiting)) : packet_queues;
    if (queue == packet_queues && line == packet_queues) break;
    if (queue > line) {
      ask_conversation(number, now);
      continue;
    }
    const uint32_t packet = ports_.take(port, queue, now);
    let_go(pool_[packet], now);
    transmit(number, packet, now);
  }
  port.is_planned = false;
  if (port.filled != 0 || (port.card >= 0 && !cards_[at(port.card)].is_idle())) nudge(number, now);
}

// When what is owed has left, as soon as the packet before has; nothing is owed then.
Time Packets::past_owed(PacketPort& port) {
  const double owed_B = static_cast<double>(port.owed_B);
  port.owed_B = 0;
  return port.busy_until + Duration::nearest_ps(port.ps_per_B * owed_B);
}

void Packets::transmit(uint32_t number, uint32_t place, Time now) {
  PacketPort& port = ports_[number];
  Packet& packet = pool_[place];
  if (port.owed_B > 0) [[unlikely]]
    now = std::max(now, past_owed(port));
  port.busy_until = now + Duration::nearest_ps(port.ps_per_B * packet.size_B);
  if (setup_.cuts_through) port.busy_until = std::max(port.busy_until, packet.sent);
  packet.road = number;
  port.carried_B += packet.size_B;
  if (watch_ != nullptr && watched_[number] > 0)
    watch_->add(watched_[number] - 1, now, port.busy_until, 1);
  Time there = port.busy_until + port.latency;
  uint32_t following = at_its_end;
  if (port.to != packet.end) {
    there += port.passing;
    if (setup_.cuts_through) {
      packet.sent = there;
      there = now + port.latency + port.passing;
    }
    following = unknown_road;
    // Known before it is there, it can be fetched before.
    if (!has_closed_) {
      packet.way_on = packet.way;
      const uint32_t road = next_road(port.to, packet.to, packet.way_on);
      if (road < at_its_end) following = road;
    }
  }
  plan(arrives, place, there, following);
}

void Packets::arrive(const Event& event, Time now) {
  const uint32_t place = event.subject();
  if (has_lost_) {
    const float loss = losses_[pool_[place].road];
    if (loss > 0 && loss_random_.uniform() < static_cast<double>(loss))
      return drop(place, counts_.lost);
  }
  const uint32_t following = event.version();
  if (following < at_its_end && !has_closed_) {
    pool_[place].way = pool_[place].way_on;
    return enter(following, place, now);
  }
  if (following != at_its_end) return forward(place, ports_[pool_[place].road].to, now);
  const Packet packet = pool_[place];
  Conversation& conversation = *conversations_[packet.conversation];
  pool_.remove(place);
  ++counts_.ended;
  if (--conversation.in_network_ == 0) maybe_over_.push_back(conversation.number_);
  if (packet.is_back)
    conversation.at_sender(packet, now);
  else
    conversation.at_receiver(packet, now);
}

void Packets::forward(uint32_t place, int vertex, Time now) {
  Packet& packet = pool_[place];
  const uint32_t number = next_road(vertex, packet.to, packet.way);
  if (number == no_road) return drop(place, counts_.unrouted);
  enter(number, place, now);
}

void Packets::enter(uint32_t number, uint32_t place, Time now) {
  PacketPort& port = ports_[number];
  if (port.busy_until <= now && port.filled == 0 && !port.is_planned && !port.is_paused)
    return transmit(number, place, now);
  uint32_t victim = Packet::none;
  switch (ports_.admit(port, place, now, victim, counts_)) {
    case Admission::queued:
      hold(pool_[place], now);
      break;
    case Admission::dropped:
      drop(place, counts_.dropped);
      break;
    case Admission::selected:
      drop(place, counts_.selected);
      break;
    case Admission::returned:
      return send_back(place, start_of(number), now);
  }
  nudge(number, now);
  if (victim == Packet::none) return;
  if (setup_.queues.rule == QueueRule::push_out)
    drop(victim, counts_.pushed_out);
  else if (PacketPorts::may_return(pool_[victim]))
    send_back(victim, start_of(number), now);
  else
    drop(victim, counts_.dropped);
}

// A header that finds no room goes back to its sender, once.
void Packets::send_back(uint32_t place, int vertex, Time now) {
  ++counts_.returned;
  Packet& packet = pool_[place];
  packet.is_back = true;
  packet.to = conversations_[packet.conversation]->parcel_.from;
  packet.end = vertex_of_[at(packet.to)];
  packet.way = static_cast<uint32_t>(ways_random_.bits());
  forward(place, vertex, now);
}

void Packets::drop(uint32_t place, int64_t& counter) {
  ++counter;
  Conversation& conversation = *conversations_[pool_[place].conversation];
  conversation.has_lost_ = true;
  if (--conversation.in_network_ == 0) maybe_over_.push_back(conversation.number_);
  pool_.remove(place);
}

// What came by a road waits here; when it is too much, the port that feeds the road has to wait.
void Packets::hold(const Packet& packet, Time now) {
  const QueueRules& rules = ports_.rules();
  if (rules.pause_above_B == QueueRules::no_limit || packet.road == no_road) return;
  PacketPort& feeder = ports_[packet.road];
  feeder.held_B += packet.size_B;
  if (feeder.held_B <= rules.pause_above_B || feeder.has_told_to_wait) return;
  feeder.has_told_to_wait = true;
  ++counts_.pauses;
  plan(pauses, packet.road, now + feeder.latency, 1);
  // What is on the road is there by then, and most ports have gone on.
  const double ten_times_B = 10 * static_cast<double>(rules.pause_above_B);
  const Duration long_time =
      2 * feeder.latency + Duration::nearest_ps(feeder.ps_per_B * ten_times_B);
  plan(pauses, packet.road, now + long_time, looks_from + ++feeder.told);
}

// A port that has waited for long.
void Packets::look_for_circle(uint32_t number, Time now) {
  if (!ports_[number].has_told_to_wait) return;
  const std::vector<uint32_t> circle = circles_.with(number);
  if (circle.empty()) return;
  const std::string ns = std::to_string(1000 + now.since_start().ps() / 1000 % 1000);
  std::string text = "at " + std::to_string(now.since_start().ps() / 1'000'000) + "." +
                     ns.substr(1) + " us " + std::to_string(circle.size()) +
                     " ports are told to wait, each by the next one, in a circle: ";
  for (std::size_t i = 0; i < circle.size(); ++i) {
    const ResourceName name = wires_.name_of(circle[i]);
    text += (i == 0 ? "" : ", ") + name.from + " -> " + name.to;
  }
  std::vector<Stranded> messages = stranded();
  for (Stranded& one : messages) one.why = Stranding::stopped;
  throw NetworkStuck(std::move(messages), text);
}

void Packets::let_go(const Packet& packet, Time now) {
  const QueueRules& rules = ports_.rules();
  if (rules.pause_above_B == QueueRules::no_limit || packet.road == no_road) return;
  PacketPort& feeder = ports_[packet.road];
  feeder.held_B -= packet.size_B;
  if (feeder.held_B > rules.resume_below_B || !feeder.has_told_to_wait) return;
  feeder.has_told_to_wait = false;
  plan(pauses, packet.road, now + feeder.latency, 0);
}

Carrier::Report Packets::happen(const Event& event, Time now) {
  agenda_.look_ahead([this](const Event& next) { fetch_what_it_meets(next); },
                     [this](const Event& later) { fetch_subject(later); });
  report_ = {};
  const uint32_t subject = event.subject();
  switch (event.kind()) {
    case arrives:
      arrive(event, now);
      break;
    case frees:
      ports_[subject].is_planned = false;
      go_on(subject, now);
      break;
    case left:
      conversations_[subject]->has_left_ = true;
      maybe_over_.push_back(subject);
      report_ = {News::sender_free, subject};
      break;
    case rings:
      if (conversations_[subject] && event.is_of(conversations_[subject]->version_))
        happen_timer(subject, now);
      break;
    case pauses:
      if (event.version() >= looks_from) {
        if (event.is_of(looks_from + ports_[subject].told)) look_for_circle(subject, now);
        break;
      }
      ports_[subject].is_paused = event.is_of(1);
      if (!ports_[subject].is_paused) nudge(subject, now);
      break;
    case pulls:
      pull_(static_cast<int>(subject), now);
      break;
    default:
      break;
  }
  if (!maybe_over_.empty()) forget_what_is_over();
  return report_;
}

}  // namespace sgdsim
