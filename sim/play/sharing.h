// How many messages leave or enter a group of workers by the same way, round by round.
//
// GPUs of a node share its network cards, nodes of a rack share its uplinks. The cost of a pair
// knows the rate of such a way but not who else uses it. Here the messages of one round are counted
// way by way; a round is then played as if the busiest way served all its messages evenly, so that
// two messages through one card take twice the time per byte. That is exact where the messages of a
// round start together, and a bound where some start later. Messages of different rounds, of
// different collectives in flight and of parameter servers are not counted against each other.
#pragma once

#include <vector>

#include "sim/net/network.h"
#include "sim/work/schedule.h"

namespace sgdsim {

// Messages through the busiest way of each of the shared ways, of blocks in the mean; of a network
// that gets crowded, all messages that it carries at once are one more, the last.
using WayLoads = std::vector<double>;

// Of the rounds of one phase. Rounds that are alike are counted once.
class PhaseLoads {
 public:
  PhaseLoads(const Network& network, const Phase& phase);
  // False for a network whose rates do not depend on loads: then nothing may be asked.
  bool any() const { return network_->has_loads(); }
  const WayLoads& at(int round);

 private:
  const Network* network_;
  const Phase* phase_;
  std::vector<WayLoads> rounds_;  // empty until asked for
};

// Blocks of a pipeline are under way at the same time, one from each worker and one to it.
class TreeLoads {
 public:
  TreeLoads(const Network& network, const TreePipeline& pipeline);
  bool any() const { return network_->has_loads(); }
  // Of an edge between two workers, by what its own ways carry. It holds until the next question.
  const WayLoads& of(int from, int to);
  WayLoads most() const;

 private:
  const Network* network_;
  std::vector<WayLoads> by_way_;  // of each of the shared ways: of every way, out and in
  double crowd_ = 0;
  WayLoads answer_;
};

// The most over all stages and rounds, for formulas that know one cost only.
WayLoads most_loads(const Network& network, const Program& program);

}  // namespace sgdsim
