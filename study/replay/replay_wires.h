// The wires of a replay: how messages go, and what they meet.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sim/net/cluster.h"
#include "sim/play/replay.h"
#include "study/limits.h"
#include "study/traffic/traffic_file.h"

namespace sgdsim {

struct ReplayWords {
  std::vector<std::string> files;
  std::string groups;
  std::vector<std::string> algorithms;
  std::string flops;
  std::string cluster;
  std::vector<std::string> settings;
  std::string fidelity = "message";
  std::string routing;
  std::string transport;
  std::string traffic;
  std::string seed;
  std::string alpha;  // as given
  std::string ports;  // as given
  std::string send_buffer;
  std::string flight;
  std::string overhead;
  std::string overhead_per_byte;
  std::string gap;
  std::string per_byte;
  std::string eager;
  std::string unexpected;  // as given
  LimitArguments limits;
};

// Whether messages share ports, at fidelity message.
bool shares_ports(const ReplayWords& words, const std::optional<Cluster>& cluster);

struct ReplayWires {
  std::unique_ptr<Resources> wires;  // or ports; null: nobody else sends by them
  std::string transport;             // empty: messages share them evenly
  TrafficFile traffic;
};

// What the options of fidelities flow and packet say; InputError where one has no effect. The costs
// of messages are in `question` already, which then refers to `wires`.
void set_wires(const ReplayWords& words, const std::optional<Cluster>& cluster, ReplayWires& wires,
               Replay& question);

}  // namespace sgdsim
