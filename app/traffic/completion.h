// What became of flows: how long they took, and what the wires carried.
#pragma once

#include <string>
#include <vector>

#include "app/traffic/traffic_file.h"
#include "sim/core/json.h"

namespace sgdsim {

struct Spread {
  double mean = 0;
  double p50 = 0;
  double p99 = 0;
  double p999 = 0;
  double max = 0;
};

struct LinkUse {
  uint32_t resource = 0;
  ResourceName name;
  double carried_B = 0;
  double utilisation = 0;  // of what it can carry until the last flow has ended
  std::vector<double> over_time;
};
struct KindUse {
  std::string kind;
  std::size_t ways = 0;
  double mean = 0;
  double most = 0;
};

struct Completion {
  Time makespan;
  std::size_t ended = 0;
  double total_B = 0;
  Spread time_us;
  Spread slowdown;  // against being alone
  std::vector<LinkUse> busiest;
  std::vector<KindUse> kinds;
  Duration interval;  // of what is over time
};

Completion completion_of(const TrafficFile& traffic, const FlowsPlayed& played,
                         const Network& network);
// The `count` busiest of all wires, and how busy each kind is.
void add_links(Completion& completion, const FlowsPlayed& played, const Resources& wires,
               std::size_t count);

Json flows_json(const TrafficFile& traffic, const FlowsPlayed& played);
Json to_json(const Completion& completion);
void print(std::ostream& out, const Completion& completion);

}  // namespace sgdsim
