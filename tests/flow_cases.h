// Plain flows on two racks, to be played in tests by hand.
#pragma once

#include <string>
#include <vector>

#include "sim/play/play_flows.h"
#include "tests/cluster_cases.h"
#include "topologies/cluster_file.h"

namespace sgdsim {

// A byte takes 1 ns on a nic, and 1 ns on an uplink; latencies of 1 us each.
inline Json leaf_spine(int nodes, int per_leaf, int spines) {
  return {{"shape", "leaf_spine"},
          {"nodes", nodes},
          {"nodes_per_leaf", per_leaf},
          {"spines", spines},
          {"nic", {{"latency", "1 us"}, {"per_byte", "1 ns/B"}}},
          {"uplink", {{"latency", "1 us"}, {"per_byte", "1 ns/B"}}}};
}
inline PlainFlow flow(double start_us, int from, int to, int64_t size_B) {
  return {Time() + Duration::nearest_ps(start_us * 1e6), Bytes(size_B), from, to};
}
inline FlowsPlayed played(const Cluster& cluster, const std::vector<PlainFlow>& flows,
                          const RouteChoice& routes = {},
                          const std::vector<WireChange>& changes = {}) {
  const auto wires = cluster.wires(routes);
  FlowsQuestion question;
  question.flows = flows;
  question.network = &cluster.network;
  question.resources = wires.get();
  question.changes = changes;
  return play_flows(question);
}
inline Duration us(double count) { return Duration::nearest_ps(count * 1e6); }
inline Duration end_of(const FlowsPlayed& flows, std::size_t place) {
  return flows.ends[place] - Time();
}

// The ways of a vertex, or of a link.
inline std::vector<uint32_t> ways_at(const Resources& wires, const std::string& one,
                                     const std::string& other = "") {
  std::vector<uint32_t> ways;
  for (uint32_t way = 0; way < wires.capacities().size(); ++way) {
    const ResourceName name = wires.name_of(way);
    const bool has_one = name.from == one || name.to == one;
    const bool has_other = other.empty() || name.from == other || name.to == other;
    if (has_one && has_other) ways.push_back(way);
  }
  return ways;
}

}  // namespace sgdsim
