// MLT (Wang et al., NSDI 2024) and its forerunner DLCP: what both read.
#pragma once

#include <memory>
#include <vector>

#include "models/transport/received.h"
#include "models/transport/registry.h"

namespace sgdsim {

// Parts by layer: each for as many layers as any other, front layers first.
using PartsByDepth = std::vector<double>;

struct MltRules {
  PartsByDepth loss_bound = {0.1};       // of gradients, and of what is neither
  PartsByDepth pull_loss_bound = {0.1};  // of parameters
  PartsByDepth important = {0.5};        // so much of the packets
  bool goes_by_depth = true;             // queues by layer, and importance
  uint32_t answer_every = 10;            // packets
  Duration ask_after;                    // the last packet, for what is missing
  Duration question_timeout = Duration::ms(1);
  // Rates: rise by a step, or fall by how far a round trip is too long.
  Duration short_trip = Duration::nearest_ps(12.5e6);
  Duration long_trip = Duration::us(125);
  double step_Bps = 40e6 / 8;
  double fall = 0.8;
  double least_rate = 0.01;     // of the line's
  bool falls_by_marks = false;  // AIMD in place of that
  double gain = 1.0 / 16;
  uint64_t seed = 1;
};

void set_mlt_defaults(PacketSetup& setup);
void read_mlt(Object& fields, MltRules rules, PacketSetup& setup);

}  // namespace sgdsim
