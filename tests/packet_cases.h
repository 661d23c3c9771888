// Networks and flows for tests of packets.
#pragma once

#include <algorithm>
#include <doctest/doctest.h>
#include <string>
#include <vector>

#include "models/transport/registry.h"
#include "sim/net/packet_report.h"
#include "sim/play/play_flows.h"
#include "study/transport_choice.h"
#include "tests/cluster_cases.h"
#include "topologies/cluster_file.h"

namespace sgdsim::packet_cases {

// `roads` one after the other: two workers at the ends of a row of switches.
inline Json row_of(int roads, const std::string& bandwidth, const std::string& latency) {
  Json json = {{"shape", "explicit"},
               {"vertices", Json::array()},
               {"links", {{"cable", {{"latency", latency}, {"bandwidth", bandwidth}}}}},
               {"edges", Json::array()}};
  for (int i = 0; i <= roads; ++i) {
    const bool is_end = i == 0 || i == roads;
    json["vertices"].push_back(
        {{"name", "v" + std::to_string(i)}, {"kind", is_end ? "gpu" : "switch"}});
    if (i > 0)
      json["edges"].push_back({{"from", "v" + std::to_string(i - 1)},
                               {"to", "v" + std::to_string(i)},
                               {"link", "cable"}});
  }
  return json;
}
inline Json rack_of(int nodes, const std::string& bandwidth = "100 Gbps",
                    const std::string& latency = "1 us") {
  return {{"shape", "single_switch"},
          {"nodes", nodes},
          {"nic", {{"latency", latency}, {"bandwidth", bandwidth}}}};
}
inline Json fat_tree(int k, const std::string& bandwidth = "100 Gbps") {
  const Json link = {{"latency", "1 us"}, {"bandwidth", bandwidth}};
  return {
      {"shape", "fat_tree"}, {"k", k}, {"nodes", k * k * k / 4}, {"nic", link}, {"uplink", link}};
}
inline Json leaf_spine(int nodes, int per_leaf, int spines) {
  const Json link = {{"latency", "1 us"}, {"bandwidth", "100 Gbps"}};
  return {{"shape", "leaf_spine"}, {"nodes", nodes}, {"nodes_per_leaf", per_leaf},
          {"spines", spines},      {"nic", link},    {"uplink", link}};
}

inline PlainFlow flow(Duration start, int from, int to, int64_t size_B) {
  return {Time() + start, Bytes(size_B), from, to};
}

// Flows must be in the order of their starts.
inline FlowsPlayed played(const Cluster& cluster, const std::vector<PlainFlow>& flows,
                          const std::string& transport, const std::vector<WireChange>& changes = {},
                          uint64_t seed = 1) {
  const auto wires = cluster.wires({});
  const Json json = transport_in(transport);
  std::vector<double> sizes_B;
  for (const PlainFlow& one : flows) sizes_B.push_back(static_cast<double>(one.size.count()));
  FlowsQuestion question;
  question.flows = flows;
  question.network = &cluster.network;
  question.resources = wires.get();
  question.changes = changes;
  question.carrier = carrier_of(Value(json, "test", ""), sizes_B, seed);
  return play_flows(question);
}
inline Duration took(const FlowsPlayed& flows, const std::vector<PlainFlow>& list,
                     std::size_t place) {
  REQUIRE(flows.ends[place] < Time::last());
  return flows.ends[place] - list[place].start;
}
inline Duration last_of(const FlowsPlayed& flows) {
  REQUIRE(*std::max_element(flows.ends.begin(), flows.ends.end()) < Time::last());
  return *std::max_element(flows.ends.begin(), flows.ends.end()) - Time();
}

inline std::vector<PlainFlow> incast(int senders, int64_t size_B) {
  std::vector<PlainFlow> flows;
  for (int i = 1; i <= senders; ++i) flows.push_back(flow({}, i, 0, size_B));
  return flows;
}

// The one that once held most.
inline QueueUse fullest_queue(const FlowsPlayed& flows) {
  QueueUse fullest;
  for (const QueueUse& queue : flows.packets->queues)
    if (queue.most_B > fullest.most_B) fullest = queue;
  return fullest;
}

// Every packet that was sent, or answers one, is somewhere.
inline void check_conserved(const FlowsPlayed& flows) {
  const PacketCounts& counts = flows.packets->counts;
  CHECK(counts.sent + counts.answers == counts.ended + counts.gone() + flows.packets->in_network);
  CHECK(counts.delivered <= counts.sent - counts.sent_again);
}

inline const std::vector<std::string> reliable = {"ndp", "dctcp", "pias", "pfabric", "roce_dcqcn"};
inline std::vector<std::string> all_transports() {
  std::vector<std::string> names;
  for (const Transport& transport : transports()) names.emplace_back(transport.name);
  return names;
}

}  // namespace sgdsim::packet_cases
