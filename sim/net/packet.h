// One packet, wherever it is.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "sim/core/units.h"

namespace sgdsim {

// Data goes to the receiver, and so do questions; everything else answers.
enum class PacketKind : uint8_t { data, question, answer };

struct Packet {
  static constexpr uint32_t none = std::numeric_limits<uint32_t>::max();

  alignas(64) uint32_t next = none;  // behind it in a queue
  uint32_t conversation = 0;
  uint32_t number = 0;  // among the data of its message; or of what it answers
  uint32_t way = 0;     // digits that choose between equal roads
  uint32_t way_on = 0;  // what is left of them behind the road that follows
  uint32_t size_B = 0;  // on the wire
  uint32_t road = 0;    // the one it is on, or came by
  uint32_t value = 0;   // what the transport wants to say
  int to = 0;           // a worker
  int end = 0;          // its vertex
  Time sent;            // or of what it answers; cut-through: its last byte is at the port
  uint64_t place = 0;   // among the packets of its connection; or of what it answers
  PacketKind kind = PacketKind::data;
  uint8_t queue = 0;          // 0 goes first
  uint8_t says = 0;           // what the transport wants to say
  bool is_back = false;       // towards the sender
  bool may_be_marked = true;  // ECN-capable; what is not may be dropped in its place
  bool is_marked = false;
  bool is_trimmed = false;
  bool is_again = false;  // sent before
};

// What became of packets.
struct PacketCounts {
  int64_t sent = 0;  // data
  int64_t sent_again = 0;
  int64_t answers = 0;    // and questions
  int64_t delivered = 0;  // data, whole
  int64_t ended = 0;      // of all kinds, at a worker
  int64_t dropped = 0;    // queues were full
  int64_t selected = 0;   // dropped because they were not important
  int64_t pushed_out = 0;
  int64_t lost = 0;  // on a wire
  int64_t unrouted = 0;
  int64_t trimmed = 0;
  int64_t returned = 0;  // headers that went back
  int64_t marked = 0;
  int64_t timeouts = 0;
  int64_t pauses = 0;
  int64_t gone() const { return dropped + selected + pushed_out + lost + unrouted; }
};

// Packets by number, so that none is allocated by itself.
class PacketPool {
 public:
  Packet& operator[](uint32_t number) { return packets_[number]; }
  const Packet& operator[](uint32_t number) const { return packets_[number]; }
  uint32_t add(const Packet& packet) {
    uint32_t number = unused_;
    if (number == Packet::none) {
      number = static_cast<uint32_t>(packets_.size());
      packets_.push_back(packet);
    } else {
      unused_ = packets_[number].next;
      packets_[number] = packet;
    }
    ++in_use_;
    return number;
  }
  void remove(uint32_t number) {
    packets_[number].next = unused_;
    unused_ = number;
    --in_use_;
  }
  int64_t in_use() const { return in_use_; }

 private:
  std::vector<Packet> packets_;
  uint32_t unused_ = Packet::none;
  int64_t in_use_ = 0;
};

}  // namespace sgdsim
