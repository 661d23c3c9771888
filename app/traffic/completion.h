// What became of flows: how long they took, and what the wires carried.
#pragma once

#include <string>
#include <vector>

#include "app/traffic/traffic_file.h"
#include "app/wire_use.h"

namespace sgdsim {

struct Spread {
  double mean = 0;
  double p50 = 0;
  double p99 = 0;
  double p999 = 0;
  double max = 0;
};

struct Completion {
  Time makespan;
  std::size_t ended = 0;
  double total_B = 0;
  Spread time_us;
  Spread slowdown;  // against being alone
  WireUse wires;
  std::vector<std::vector<double>> over_time;  // of the busiest links
  Duration interval;
};

Completion completion_of(const TrafficFile& traffic, const FlowsPlayed& played,
                         const Network& network);
Json flows_json(const TrafficFile& traffic, const FlowsPlayed& played);
Json to_json(const Completion& completion);
void print(std::ostream& out, const Completion& completion);

}  // namespace sgdsim
