// Lists of packets, cut and joined.
#include "sim/net/packet_ports.h"

#include <algorithm>

namespace sgdsim {
namespace {

constexpr uint32_t header_B = 64;  // of data that was cut down

}  // namespace

void PacketPorts::add(const Road& road) {
  PacketPort& port = ports_.emplace_back();
  port.ps_per_B = road.ps_per_B;
  port.latency = road.latency;
  port.passing = road.passing;
  port.to = road.to;
}

void PacketPorts::tell(LinkWatch& watch) {
  watch_ = &watch;
  watched_.resize(ports_.size());
  for (std::size_t place = 0; place < watch.queues().size(); ++place)
    watched_[watch.queues()[place]] = static_cast<uint32_t>(place) + 1;
}

void PacketPorts::tell_what_waits(const PacketPort& port, Time now) {
  const uint32_t watched = watched_[static_cast<std::size_t>(&port - ports_.data())];
  if (watched > 0 && port.bytes > 0)
    watch_->add_waiting(watched - 1, port.counted_until, now, static_cast<double>(port.bytes));
}

Admission PacketPorts::admit(PacketPort& port, uint32_t packet, Time now, uint32_t& victim,
                             PacketCounts& counts) {
  switch (rules_.rule) {
    case QueueRule::trim:
      return admit_or_trim(port, packet, now, victim, counts);
    case QueueRule::push_out:
      return admit_or_push_out(port, packet, now, victim);
    case QueueRule::priority:
      break;
  }
  return admit_by_priority(port, packet, now, counts);
}

uint64_t PacketPorts::sent_in(const PacketPort& port, double time_ps) {
  constexpr double most_B = 1e18;
  if (port.ps_per_B * most_B <= time_ps) return QueueRules::no_limit;
  return static_cast<uint64_t>(time_ps / port.ps_per_B);
}

bool PacketPorts::is_full_for(const PacketPort& port, const Packet& packet) const {
  const uint64_t data_B = port.bytes - port.queues[answers].bytes;
  const uint64_t limit_B = port_limit_ps_ > 0 ? sent_in(port, port_limit_ps_) : rules_.port_limit_B;
  return packet.queue != answers && data_B + packet.size_B > limit_B;
}

bool PacketPorts::marks(const PacketPort& port, const Packet& packet) {
  const uint64_t length = rules_.marks_by_port ? port.bytes : port.queues[packet.queue].bytes;
  const uint64_t from = rules_.mark_above_ps > 0 ? sent_in(port, rules_.mark_above_ps)
                                                 : rules_.mark_above_B[packet.queue];
  if (length <= from) return false;
  const uint64_t surely =
      rules_.mark_surely_ps > 0 ? sent_in(port, rules_.mark_surely_ps) : rules_.mark_surely_B;
  if (length >= surely) return true;
  const double part = static_cast<double>(length - from) / static_cast<double>(surely - from);
  return draws(part * rules_.mark_most);
}

Admission PacketPorts::admit_by_priority(PacketPort& port, uint32_t number, Time now,
                                         PacketCounts& counts) {
  Packet& packet = pool_[number];
  if (port.queues[packet.queue].bytes > rules_.queue_limit_B[packet.queue])
    return Admission::dropped;
  if (is_full_for(port, packet)) return Admission::dropped;
  if (packet.kind == PacketKind::data && marks(port, packet)) {
    if (packet.may_be_marked) {
      packet.is_marked = true;
      ++counts.marked;
    } else if (rules_.selects) {
      return Admission::selected;
    }
  }
  append(port, number, now);
  return Admission::queued;
}

// With equal chance the packet that comes or the last one of the queue loses its data.
Admission PacketPorts::admit_or_trim(PacketPort& port, uint32_t number, Time now, uint32_t& victim,
                                     PacketCounts& counts) {
  Packet& packet = pool_[number];
  uint32_t cut = number;
  if (packet.queue == data) {
    const PacketQueue& queue = port.queues[data];
    if (port.data_waiting < rules_.trim_above) {
      append(port, number, now);
      return Admission::queued;
    }
    if (port.data_waiting > 0 && draws(0.5)) {
      cut = queue.last;
      uint32_t before = Packet::none;
      for (uint32_t one = queue.first; one != cut; one = pool_[one].next) before = one;
      remove(port, data, before, cut, now);
      append(port, number, now);
    }
    pool_[cut].is_trimmed = true;
    pool_[cut].size_B = std::min(pool_[cut].size_B, header_B);
    pool_[cut].queue = headers;
    ++counts.trimmed;
  }
  if (port.queues[headers].bytes + pool_[cut].size_B <= rules_.queue_limit_B[headers]) {
    append(port, cut, now);
    return Admission::queued;
  }
  if (cut == number) return may_return(pool_[cut]) ? Admission::returned : Admission::dropped;
  victim = cut;
  return Admission::queued;
}

Admission PacketPorts::admit_or_push_out(PacketPort& port, uint32_t number, Time now,
                                         uint32_t& victim) {
  const Packet& packet = pool_[number];
  if (is_full_for(port, packet)) {
    uint32_t worst = number;
    uint32_t before_worst = Packet::none;
    uint32_t before = Packet::none;
    for (uint32_t one = port.queues[data].first; one != Packet::none; one = pool_[one].next) {
      if (pool_[one].value > pool_[worst].value ||
          (worst != number && pool_[one].value == pool_[worst].value)) {
        worst = one;
        before_worst = before;
      }
      before = one;
    }
    if (worst == number) return Admission::dropped;
    remove(port, data, before_worst, worst, now);
    victim = worst;
  }
  append(port, number, now);
  return Admission::queued;
}

// Of the message with the least left the packet that came first.
uint32_t PacketPorts::least_left(const PacketPort& port, uint32_t& before) const {
  uint32_t chosen = port.queues[data].first;
  uint32_t least = chosen;
  for (uint32_t one = chosen; one != Packet::none; one = pool_[one].next)
    if (pool_[one].value < pool_[least].value) least = one;
  for (; pool_[chosen].conversation != pool_[least].conversation; chosen = pool_[chosen].next)
    before = chosen;
  return chosen;
}

}  // namespace sgdsim
