// From port to port: each packet on its way (packet_cards.cpp: from its card).
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
  plan(frees, number, port.busy_until, port.planned);
}

void Packets::go_on(uint32_t number, Time now) {
  PacketPort& port = ports_[number];
  if (port.is_paused) return;
  port.is_planned = true;  // nobody else is to start it
  // More than once where packets take no time.
  while (port.busy_until <= now) {
    const std::size_t queue = ports_.next_queue(port);
    if (port.card >= 0 && is_cards_turn(cards_[at(port.card)], queue)) {
      send_of_card(number, now);
      continue;
    }
    if (queue == packet_queues) break;
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

// A switch cuts through what comes as fast as it goes on; what comes slower keeps no port waiting
// for its bytes.
Time Packets::goes_on_at(const Packet& packet, uint32_t road) const {
  return packet.sent - Duration::nearest_ps(ports_[road].ps_per_B * packet.size_B);
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
    packet.way_on = packet.way;
    const uint32_t road = next_road(port.to, packet.to, packet.way_on);
    // Known before it is there, it can be fetched before.
    following = !has_closed_ && road < at_its_end ? road : unknown_road;
    if (setup_.cuts_through) {
      packet.sent = std::exchange(there, now + port.latency + port.passing);
      if (road < at_its_end) there = std::max(there, goes_on_at(packet, road));
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
      if (!event.is_of(ports_[subject].planned)) break;
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
