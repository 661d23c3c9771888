// Collectives over wires of which no two messages share more than there is: each takes what it
// takes alone, so that no flow need be played.
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
bool is_quiet_in_step(const Program& program, const Network& network, Resources& resources);

// Everybody always sends to the same worker, and all of these messages have room together.
bool always_same_pairs(const Program& program, const Network& network, Resources& resources);

// If everybody always sends to the same worker, and all of these messages have room together: when
// workers are done, whenever they start. What arrives is taken as it comes.
std::optional<std::vector<Time>> play_same_pairs(const Program& program, const Network& network,
                                                 Resources& resources, AlphaRule alpha,
                                                 std::vector<Time> clocks);

}  // namespace sgdsim
