// What messages of a collective keep busy: every GPU's way to others of its node, and its card.
//
// A round takes as long as its busiest port, and a pipeline of blocks as its busiest port over all
// of them. It is wrong where a port of a round waits for another one of the round before.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "sim/work/schedule.h"

namespace sgdsim {

// Of a group of ranks. It plays a program as often as there are parts, each of which begins in
// every node with another member, so that their cards take turns.
struct GroupPorts {
  std::vector<int64_t> members;  // of each node, in order
  int64_t parts = 1;
  double inside_latency_s = 0;
  double inside_s_per_B = 0;
  double across_latency_s = 0;
  double across_s_per_B = 0;
  bool starts_in_flight = false;  // a member that sends again pays for one start only
};

// Of a program of one part, for all parts at once. Empty for rounds of which there are as many as
// members, in each of which all send: these are priced as rings are.
std::optional<double> seconds_on_ports(const Program& program, const GroupPorts& group);

}  // namespace sgdsim
