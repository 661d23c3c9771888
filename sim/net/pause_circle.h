// Ports that are told to wait, and wait for each other.
//
// What came by a road and waits at ports that wait themselves cannot leave. If that alone is more
// than what lets the road's port go on, and all of these ports are so, nothing moves any more.
#pragma once

#include <utility>
#include <vector>

#include "sim/net/packet_ports.h"

namespace sgdsim {

class PauseCircles {
 public:
  PauseCircles(const PacketPorts& ports, const PacketPool& pool) : ports_(ports), pool_(pool) {}

  // A circle of ports, each waiting for the next one, that `first` can never leave; empty if it
  // can.
  std::vector<uint32_t> with(uint32_t first);

 private:
  struct Wait {
    uint32_t port = 0;  // where packets wait
    uint64_t bytes = 0;
  };
  struct Waiter {
    std::vector<Wait> waits;  // at ports that are told to wait as well
    bool is_stuck = true;
  };

  void find_ports_of_vertices();
  Waiter who_waits_as(uint32_t number) const;
  bool frees_itself(const Waiter& waiter) const;
  uint32_t stuck_behind(uint32_t number) const;

  const PacketPorts& ports_;
  const PacketPool& pool_;
  std::vector<std::vector<uint32_t>> ports_of_;  // of each vertex, once something is asked
  std::vector<std::pair<uint32_t, Waiter>> waiters_;
  std::vector<uint32_t> place_;  // of each port among them, and one more
};

}  // namespace sgdsim
