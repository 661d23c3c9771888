// One worker stands for all, where all are alike.
//
// That is so when all start together, every pair costs the same, no message is jittered, and in
// every round every worker sends and receives as much as every other. Two kinds of phase are like
// that: shifts of equal chunks, and exchanges among a power of two. A ring of unequal chunks is
// not, but its end is known all the same: the largest chunk travels through all rounds without ever
// waiting, so the worker that holds it is the representative (exact for whole programs of rings).
// Where everybody talks to everybody, one distance after another, that is the worker to which the
// largest chunk belongs: it takes or sends a largest message in every round, and nobody's round is
// longer.
#pragma once

#include <optional>

#include "sim/play/play.h"

namespace sgdsim {

// Whether workers that start together end together, if messages have room.
bool goes_in_step(const Program& program, const Network& network);

struct InStep {
  bool shares_ports = false;
  bool last_only = false;    // others may end before the last worker
  double send_buffer_B = 0;  // of each message, at ports (sim/net/flows.h)
};
// The end of the last worker, or nothing if the workers are not alike.
std::optional<Time> play_symmetric(const Program& program, const Wires& wires, Time start,
                                   const InStep& how);

}  // namespace sgdsim
