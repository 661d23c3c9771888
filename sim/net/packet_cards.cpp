// What leaves workers: packets of conversations that are ready, answers, and what a port does for
// its own worker and for others in turn.
#include <algorithm>

#include "sim/core/cast.h"
#include "sim/net/packets.h"

namespace sgdsim {

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

// What a worker sends itself, and what it forwards for others, take turns where they are as urgent.
bool Packets::is_cards_turn(Card& card, std::size_t queue) const {
  if (card.is_idle()) return false;
  const std::size_t own = !card.runs.empty()
                              ? conversations_[card.runs.front().conversation]->queue
                              : static_cast<std::size_t>(std::countr_zero(card.filled));
  const bool is_own = own < queue || (own == queue && card.goes_next);
  card.goes_next = !is_own;
  return is_own;
}

void Packets::send_of_card(uint32_t number, Time now) {
  if (cards_[at(ports_[number].card)].runs.empty())
    ask_conversation(number, now);
  else
    send_of_run(number, now);
}

}  // namespace sgdsim
