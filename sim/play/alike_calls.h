// Collectives of which several are in flight, of workers that are all alike: one is played, as a
// recurrence.
//
// All enter together, every pair costs the same, and in every round everybody sends and receives as
// much as all others. Then what a worker sends is what it receives, at the same times; the
// messages of its collectives that are under way share its two ports alike, and nothing else. So a
// collective is a row of pauses and of bytes that flow, of which those under way share the port:
// max-min fairly in bytes, as in sim/net/max_min.h, which finds the same rates where all workers
// are played. That takes some hundred instructions a message instead of five thousand.
//
// It is wrong where a worker may be at another point than the others (jitter, turns at ports,
// buffers), or where messages meet elsewhere than at ports: who uses it asks for neither.
#pragma once

#include <span>
#include <vector>

#include "sim/core/stopper.h"
#include "sim/net/wires.h"
#include "sim/work/schedule.h"

namespace sgdsim {

struct AlikeCall {
  const Program* program = nullptr;
  const Network* network = nullptr;
  Time ready;
  Duration first;  // what a worker does before its first message
};

struct AlikeTimes {
  Time starts;
  Time ends;
};

// In their order, each when it is ready and fewer than `at_once` are under way.
std::vector<AlikeTimes> play_alike(std::span<const AlikeCall> calls, AlphaRule alpha, int at_once,
                                   Stopper* stopper = nullptr);

}  // namespace sgdsim
