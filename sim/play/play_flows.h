// Plays plain flows over what they share, and what happens to wires meanwhile.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "sim/core/stopper.h"
#include "sim/play/traffic_in_time.h"

namespace sgdsim {

struct FlowsQuestion {
  std::span<const PlainFlow> flows;  // in the order of their starts
  const Network* network = nullptr;
  Resources* resources = nullptr;
  MakeCarrier carrier = {};                  // none: flows
  AlphaRule alpha = AlphaRule::port;         // of those
  std::span<const WireChange> changes = {};  // in the order of their times
  // How much of these was in use, interval by interval.
  std::vector<uint32_t> watched = {};
  std::vector<uint32_t> watched_queues = {};  // fidelity packet: and how much waits for these
  Duration interval;
  int64_t intervals = 0;
  Stopper* stopper = nullptr;
};

struct FlowsPlayed {
  std::vector<Time> ends;                      // Time::last(): it never did
  Time until;                                  // the last end, or nothing could go on
  std::vector<double> carried_B;               // until then, by each resource
  std::vector<std::size_t> stranded;           // flows that never end
  std::vector<Stranding> why_stranded;         // of each of them
  std::string circle;                          // of ports that wait for each other; empty: none
  std::vector<std::vector<double>> watched;    // parts of capacity, of each interval
  std::vector<std::vector<double>> waiting_B;  // in queues that are watched, likewise
  uint64_t events = 0;
  std::vector<double> delivered;  // parts of each, where packets may be lost for good
  std::shared_ptr<const PacketReport> packets;
};
FlowsPlayed play_flows(const FlowsQuestion& question);

// What a flow takes if there is nothing else.
Duration alone(const PlainFlow& flow, const Network& network);

}  // namespace sgdsim
