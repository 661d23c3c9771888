// What became of packets, and how long queues were.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <vector>

#include "sim/net/packet.h"
#include "sim/net/resources.h"

namespace sgdsim {

struct QueueUse {
  uint32_t resource = 0;
  uint64_t most_B = 0;
  double mean_B = 0;
};

// Bytes of messages, by whether their packets are important.
struct Delivery {
  std::array<double, 2> size_B = {};
  std::array<double, 2> delivered_B = {};  // when the receiver had what it wanted

  double part() const {
    const double all_B = size_B[0] + size_B[1];
    return all_B > 0 ? (delivered_B[0] + delivered_B[1]) / all_B : 1;
  }
  Delivery& operator+=(const Delivery& other) {
    for (std::size_t i = 0; i < 2; ++i) {
      size_B[i] += other.size_B[i];
      delivered_B[i] += other.delivered_B[i];
    }
    return *this;
  }
};

struct PacketReport {
  PacketCounts counts;
  int64_t in_network = 0;                // still
  std::vector<QueueUse> queues;          // of ports where something has waited
  std::vector<Duration> took;            // messages, from their beginning until complete
  std::map<Freight, Delivery> delivery;  // front layers first

  Delivery of(Cargo cargo) const {
    Delivery all;
    for (const auto& [freight, delivered] : delivery)
      if (freight.cargo == cargo) all += delivered;
    return all;
  }
};

}  // namespace sgdsim
