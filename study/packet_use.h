// What became of packets, for people and for programs.
#pragma once

#include <ostream>
#include <utility>
#include <vector>

#include "sim/core/fields.h"
#include "sim/net/packet_report.h"
#include "study/wire_use.h"

namespace sgdsim {

struct Spread {
  double mean = 0;
  double p50 = 0;
  double p99 = 0;
  double p999 = 0;
  double max = 0;
};
// All zero if there are no values.
Spread spread_of(std::vector<double> values);
Spread spread_of_us(const std::vector<Duration>& times);
Fields fields_of(const Spread& spread);

Json counts_json(const PacketReport& report);
Json schema_of_counts();
using NamedQueues = std::vector<std::pair<ResourceName, QueueUse>>;
// So many of the longest ones.
NamedQueues longest_queues(const PacketReport& report, const Resources& wires, std::size_t most);
// `packets` and `queues`; no report: none of them.
Fields packet_fields(const PacketReport* report, const NamedQueues& queues,
                     const UseOverTime& over_time);
Field queues_field(const PacketReport* report, const NamedQueues& queues,
                   const UseOverTime& over_time = {});
// By layer of so many, front first; no report: nothing.
Field delivery_field(const PacketReport* report, std::size_t layers);
void print_counts(std::ostream& out, const PacketReport& report);
// And what messages take.
void print_packets(std::ostream& out, const PacketReport& report);

}  // namespace sgdsim
