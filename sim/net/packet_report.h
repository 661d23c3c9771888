// What became of packets, and how long queues were.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/net/packet.h"

namespace sgdsim {

struct QueueUse {
  uint32_t resource = 0;
  uint64_t most_B = 0;
  double mean_B = 0;
};

struct PacketReport {
  PacketCounts counts;
  int64_t in_network = 0;        // still
  std::vector<QueueUse> queues;  // of ports where something has waited
};

}  // namespace sgdsim
