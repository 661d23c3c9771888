// Links that get faster or slower, lose packets, open and close, while packets are under way.
#include <algorithm>
#include <deque>
#include <utility>
#include <vector>

#include "sim/net/packets.h"

namespace sgdsim {

// What is being sent arrives as it would have, and nothing overtakes it. The rest of it keeps a
// port that slows down for as long as it takes now: no wire carries more than it can. When the port
// gets faster again, so does that rest.
void Packets::scale(uint32_t resource, double factor, Time now) {
  are_routes_old_ = true;
  PacketPort& port = ports_[resource];
  const double before = std::exchange(port.ps_per_B, roads_.all()[resource].ps_per_B / factor);
  if (port.busy_until <= now || port.ps_per_B == before) return;
  Stretched& rest = stretched_[resource];
  if (rest.carried_B != port.carried_B) rest = {port.carried_B, port.busy_until};
  const double left_ps = static_cast<double>((port.busy_until - now).ps());
  const Time busy_until =
      std::max(rest.sent, now + Duration::nearest_ps(left_ps / before * port.ps_per_B));
  const Time busy_before = std::exchange(port.busy_until, busy_until);
  if (watch_ != nullptr && watched_[resource] > 0) {
    const bool is_longer = busy_until > busy_before;
    watch_->add(watched_[resource] - 1, std::min(busy_before, busy_until),
                std::max(busy_before, busy_until), is_longer ? 1 : -1);
  }
  if (busy_until >= busy_before || !port.is_planned) return;
  ++port.planned;
  plan(frees, resource, busy_until, port.planned);
}

void Packets::lose(std::span<const uint32_t> resources, double chance) {
  for (const uint32_t resource : resources) losses_[resource] = static_cast<float>(chance);
  has_lost_ = true;
}

void Packets::open(std::span<const uint32_t> resources, bool is_open, Time now) {
  if (!wires_.open(resources, is_open)) return;
  std::fill(table_.begin(), table_.end(), unknown_entry);
  has_closed_ = true;
  if (!is_open)
    for (const uint32_t number : resources)
      for (PacketPort& port = ports_[number]; port.filled != 0;) {
        const uint32_t packet = ports_.take(port, ports_.next_queue(port), now);
        let_go(pool_[packet], now);
        drop(packet, counts_.unrouted);
      }
  look_for_ways_again(now);
  forget_what_is_over();
}

// What they pace, wait for and keep under way follows the links.
void Packets::know_routes_again() {
  are_routes_old_ = false;
  for (const auto& conversation : conversations_) {
    if (!conversation || conversation->parcel_.from == conversation->parcel_.to) continue;
    const RouteFacts now = route(conversation->parcel_.from, conversation->parcel_.to);
    if (!now.is_whole || now == conversation->route_) continue;
    conversation->route_ = now;
    conversation->route_changed();
  }
}

void Packets::look_for_ways_again(Time now) {
  know_routes_again();
  for (const auto& conversation : conversations_) {
    if (!conversation) continue;
    conversation->permutation_.clear();
    conversation->next_way_ = 0;
  }
  std::vector<uint32_t> again = std::exchange(unrouted_, {});
  for (Card& card : cards_) {
    for (const uint32_t first : card.first)
      for (uint32_t one = first; one != Packet::none; one = conversations_[one]->next_ready_) {
        conversations_[one]->is_ready_ = false;
        again.push_back(one);
      }
    std::deque<Run> runs = std::move(card.runs);
    card = {};
    card.runs = std::move(runs);
  }
  for (const uint32_t one : again) {
    Conversation& conversation = *conversations_[one];
    conversation.is_unrouted_ = false;
    maybe_over_.push_back(one);
    if (const uint32_t packets = std::exchange(conversation.without_way_, 0); packets > 0)
      add_run(conversation, packets, now);
    else
      ready(conversation, now);
  }
  for (const Parked& parked : std::exchange(parked_, {})) {
    const Parcel& parcel = parked.parcel;
    if (route(parcel.from, parcel.to).is_whole)
      connect(parked.number, parcel, parked.is_wanted, now);
    else
      parked_.push_back(parked);
  }
}

}  // namespace sgdsim
