// Collectives over wires or ports of which no two messages share more than there is: each takes
// what it takes alone, so that no flow need be played.
#pragma once

#include <optional>
#include <vector>

#include "sim/net/resources.h"
#include "sim/play/play.h"

namespace sgdsim {

// Bytes that each resource carries.
std::vector<double> carried_by(const Program& program, const Network& network,
                               Resources& resources);

// The messages of each round, all at once, have room: for workers that go in step.
bool is_quiet_in_step(const Program& program, const Network& network, Resources& resources,
                      const Stopper* stopper = nullptr);

// Everybody always sends to the same worker, and all of these messages have room together.
bool always_same_pairs(const Program& program, const Network& network, Resources& resources,
                       AlphaRule of_legs = AlphaRule::wire);

// Whether a collective of so many workers is launches and rounds in which everybody always sends to
// the same one, as far away in all of them: that phase; null: it is not.
const Phase* ring_of(const Program& program, int workers);

// Such rounds, of messages that have room: from when each worker is there to when each is done.
// `members`: who they are on the network; null: all of it. `folds`: adding up takes time.
// `sent_B`: what each sends is added to it, if given. `of_legs`: over wires the flight is apart.
struct RingPlay {
  const Network& network;
  AlphaRule alpha = AlphaRule::port;
  AlphaRule of_legs = AlphaRule::wire;
  MessageJitter jitter = {};  // where wires are not shared: it may make messages faster than these
  const std::vector<int>* members = nullptr;
  bool folds = true;
  std::vector<double>* sent_B = nullptr;
  const Stopper* stopper = nullptr;  // looks only
  uint64_t stage = 0;                // of the program, from 1, while it is played
};
void play_ring(const Program& program, const RingPlay& how, std::vector<Time>& clocks);

// If everybody always sends to the same worker, and all of these messages have room together: when
// workers are done, whenever they start. What arrives is taken as it comes.
std::optional<std::vector<Time>> play_same_pairs(const Program& program, const RingPlay& how,
                                                 Resources& resources, std::vector<Time> clocks);

}  // namespace sgdsim
