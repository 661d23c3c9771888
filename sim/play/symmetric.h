// One worker stands for all, where all are alike.
//
// That is so when all start together, every pair costs the same, no message is jittered, and in
// every round every worker sends and receives as much as every other. Two kinds of phase are like
// that: shifts of equal chunks, and exchanges among a power of two. A ring of unequal chunks is
// not, but its end is known all the same: the largest chunk travels through all rounds without ever
// waiting, so the worker that holds it is the representative (exact for whole programs of rings).
#pragma once

#include <optional>

#include "sim/play/play.h"

namespace sgdsim {

// Whether workers that start together end together, if messages have room.
bool goes_in_step(const Program& program, const Network& network);

// The end of the last worker, or nothing if the workers are not alike.
std::optional<Time> play_symmetric(const Program& program, const Wires& wires, Time start,
                                   bool shares_ports = false);

}  // namespace sgdsim
