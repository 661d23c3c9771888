// What became of flows: how long they took, and what the wires carried.
#pragma once

#include <string>
#include <vector>

#include "study/packet_use.h"
#include "study/traffic/traffic_file.h"
#include "study/wire_use.h"

namespace sgdsim {

struct Completion {
  Time makespan;
  Time until;  // as long as something was played: longer if some flows have no way
  std::size_t ended = 0;
  double total_B = 0;
  Spread time_us;
  Spread slowdown;  // against being alone
  WireUse wires;
  UseOverTime over_time;
  // At fidelity packet:
  double delivered = 1;  // of flows, on average
  double least_delivered = 1;
  std::shared_ptr<const PacketReport> packets;
  NamedQueues queues;  // the longest ones
};

Completion completion_of(const TrafficFile& traffic, const FlowsPlayed& played,
                         const Cluster& cluster, const Resources& wires, std::size_t links);
void print_flows(std::ostream& out, const TrafficFile& traffic, const FlowsPlayed& played);
Fields fields_of(const Completion& completion);
Json schema_of_flow_list();  // of what print_flows prints
void print(std::ostream& out, const Completion& completion);

}  // namespace sgdsim
