// The ports of switches and cards: queues, and what happens when they are full.
//
// A port sends one packet after the other over its road. Eight queues go by strict priority, queue
// 0 first; a packet that is being sent is not interrupted, and is in no queue. One mechanism marks
// and selects: above the threshold of its queue a packet that may be marked is marked, and another
// one is dropped if `selects`. Answers and questions are neither.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <limits>
#include <vector>

#include "sim/core/random.h"
#include "sim/net/link_watch.h"
#include "sim/net/packet.h"
#include "sim/net/roads.h"

namespace sgdsim {

inline constexpr std::size_t packet_queues = 8;

enum class QueueRule : uint8_t {
  priority,  // strict, with marks and selective drops
  trim,      // full queues cut data down to headers, which go first (NDP)
  push_out   // the packet with the most left to send leaves a full port, the least goes first
};

struct QueueRules {
  static constexpr uint64_t no_limit = std::numeric_limits<uint64_t>::max();

  QueueRule rule = QueueRule::priority;
  uint64_t port_limit_B = no_limit;  // of all queues of data together
  std::array<uint64_t, packet_queues> queue_limit_B = filled(no_limit);
  std::array<uint64_t, packet_queues> mark_above_B = filled(no_limit);
  bool marks_by_port = false;  // what counts is what is in all queues
  uint64_t mark_surely_B = 0;  // from the threshold to here: marked by chance (RED)
  double mark_most = 1;        // with this chance at the end
  // In place of sizes: as much as a port sends in this time, whatever its rate; 0: the sizes count.
  double mark_above_ps = 0;
  double mark_surely_ps = 0;
  double port_limit_trips = 0;        // in round trips of an empty network between the farthest
  bool selects = false;               // drop above the threshold what may not be marked
  uint64_t trim_above = no_limit;     // packets of data
  uint32_t headers_in_turn = 10;      // for each packet of data
  uint64_t pause_above_B = no_limit;  // of what came by one road: it is told to wait (PFC)
  uint64_t resume_below_B = 0;

  static constexpr std::array<uint64_t, packet_queues> filled(uint64_t value) {
    std::array<uint64_t, packet_queues> all{};
    all.fill(value);
    return all;
  }
};

struct PacketQueue {
  uint32_t first = Packet::none;
  uint32_t last = Packet::none;
  uint64_t bytes = 0;
};

// What every packet looks at comes first, and then what those look at that wait in the first two
// queues: a line of the cache each.
struct PacketPort {
  alignas(64) Time busy_until;
  double ps_per_B = 0;
  Duration latency;
  Duration passing;
  int to = 0;               // a vertex
  int32_t card = -1;        // of a worker, that asks conversations for data; -1: a switch
  uint64_t bytes = 0;       // in all queues
  uint8_t filled = 0;       // a bit for each queue
  bool is_planned = false;  // an event when it is free
  bool is_paused = false;
  bool has_told_to_wait = false;  // those who feed what this road brings
  uint32_t headers_sent = 0;      // since the last data
  float owed_B = 0;               // acknowledgements, which leave with the next packet
  uint32_t planned = 0;           // how often anew, because it is free earlier
  double carried_B = 0;
  Time counted_until;
  double byte_ps = 0;         // bytes in queues, times how long
  uint64_t most_B = 0;        // in all queues, ever
  uint32_t data_waiting = 0;  // packets in the first queue of data
  std::array<PacketQueue, packet_queues> queues;
  uint64_t held_B = 0;  // of what came by this road and waits behind it
  uint32_t told = 0;    // to wait, so many times
};

// What becomes of a packet that comes to a port which is busy.
enum class Admission : uint8_t { queued, dropped, selected, returned };

class PacketPorts {
 public:
  PacketPorts(const QueueRules& rules, PacketPool& pool, uint64_t seed)
      : rules_(rules), pool_(pool), random_(seed) {}

  void add(const Road& road);
  PacketPort& operator[](uint32_t number) { return ports_[number]; }
  const PacketPort& operator[](uint32_t number) const { return ports_[number]; }
  uint32_t count() const { return static_cast<uint32_t>(ports_.size()); }
  const QueueRules& rules() const { return rules_; }

  // Whether a header that finds no room goes back to its sender.
  static bool may_return(const Packet& packet) { return packet.is_trimmed && !packet.is_back; }
  // Queues a packet or says why not. Another one may have to go for it: `victim`.
  Admission admit(PacketPort& port, uint32_t packet, Time now, uint32_t& victim,
                  PacketCounts& counts);
  // The queue that goes next; packet_queues if all are empty.
  std::size_t next_queue(const PacketPort& port) const;
  uint32_t take(PacketPort& port, std::size_t queue, Time now);
  // All queues of data together have room for what the port sends in this time.
  void limit_by_time(Duration time) { port_limit_ps_ = static_cast<double>(time.ps()); }
  // Hears what waits at its queues.
  void tell(LinkWatch& watch);
  bool draws(double chance) { return random_.uniform() < chance; }

 private:
  static constexpr std::size_t answers = 0;  // have room of their own
  static constexpr std::size_t headers = 0;
  static constexpr std::size_t data = 1;

  uint32_t least_left(const PacketPort& port, uint32_t& before) const;
  void append(PacketPort& port, uint32_t packet, Time now);
  void remove(PacketPort& port, std::size_t queue, uint32_t before, uint32_t packet, Time now);
  Admission admit_by_priority(PacketPort& port, uint32_t packet, Time now, PacketCounts& counts);
  Admission admit_or_trim(PacketPort& port, uint32_t packet, Time now, uint32_t& victim,
                          PacketCounts& counts);
  Admission admit_or_push_out(PacketPort& port, uint32_t packet, Time now, uint32_t& victim);
  static uint64_t sent_in(const PacketPort& port, double time_ps);
  bool is_full_for(const PacketPort& port, const Packet& packet) const;
  bool marks(const PacketPort& port, const Packet& packet);
  void count(PacketPort& port, Time now) {
    if (watch_ != nullptr) tell_what_waits(port, now);
    port.byte_ps +=
        static_cast<double>(port.bytes) * static_cast<double>((now - port.counted_until).ps());
    port.counted_until = now;
  }

  void tell_what_waits(const PacketPort& port, Time now);

  QueueRules rules_;
  double port_limit_ps_ = 0;  // 0: that of the rules
  PacketPool& pool_;
  Random random_;
  std::vector<PacketPort> ports_;
  LinkWatch* watch_ = nullptr;
  std::vector<uint32_t> watched_;  // by port: its place among the queues, and one more
};

// ---- what happens to every packet

inline void PacketPorts::append(PacketPort& port, uint32_t number, Time now) {
  Packet& packet = pool_[number];
  PacketQueue& queue = port.queues[packet.queue];
  count(port, now);
  packet.next = Packet::none;
  if (queue.last == Packet::none)
    queue.first = number;
  else
    pool_[queue.last].next = number;
  queue.last = number;
  queue.bytes += packet.size_B;
  port.data_waiting += packet.queue == data ? 1 : 0;
  port.bytes += packet.size_B;
  port.most_B = std::max(port.most_B, port.bytes);
  port.filled = static_cast<uint8_t>(port.filled | (1U << packet.queue));
}

inline void PacketPorts::remove(PacketPort& port, std::size_t place, uint32_t before,
                                uint32_t number, Time now) {
  const Packet& packet = pool_[number];
  PacketQueue& queue = port.queues[place];
  count(port, now);
  if (before == Packet::none)
    queue.first = packet.next;
  else
    pool_[before].next = packet.next;
  if (queue.last == number) queue.last = before;
  queue.bytes -= packet.size_B;
  port.data_waiting -= place == data ? 1 : 0;
  port.bytes -= packet.size_B;
  if (queue.first == Packet::none) port.filled = static_cast<uint8_t>(port.filled & ~(1U << place));
}

inline std::size_t PacketPorts::next_queue(const PacketPort& port) const {
  if (port.filled == 0) return packet_queues;
  const auto first = static_cast<std::size_t>(std::countr_zero(port.filled));
  const bool both = (port.filled & 3U) == 3U;
  if (rules_.rule == QueueRule::trim && both && port.headers_sent >= rules_.headers_in_turn)
    return data;
  return first;
}

inline uint32_t PacketPorts::take(PacketPort& port, std::size_t queue, Time now) {
  uint32_t before = Packet::none;
  const uint32_t chosen = rules_.rule == QueueRule::push_out && queue == data
                              ? least_left(port, before)
                              : port.queues[queue].first;
  if (rules_.rule == QueueRule::trim)
    port.headers_sent = queue == headers ? port.headers_sent + 1 : 0;
  remove(port, queue, before, chosen, now);
  return chosen;
}

}  // namespace sgdsim
