// MLT (Wang et al., NSDI 2024) and its forerunner DLCP: what both read.
#pragma once

#include <memory>
#include <optional>
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
  std::optional<uint32_t> halve_after;   // packets without an answer; not given: of six answers
  Duration ask_after;                    // the last packet, for what is missing
  Duration question_timeout = Duration::ms(1);
  std::optional<Duration> forget_after;  // with nothing to send; not given: question_timeout
  // Rates: rise by a step, or fall by how far a round trip is too long.
  std::optional<Duration> short_trip;  // not given: where the fullest port is full to a 64th
  std::optional<Duration> long_trip;   // likewise: to 0.7
  std::optional<double> step_Bps;      // not given: 0.0016 of the line's
  double fall = 0.8;
  double least_rate = 0.01;     // of the line's
  bool falls_by_marks = false;  // AIMD in place of that
  double gain = 1.0 / 16;
  uint64_t seed = 1;
};

// mlt_fields.cpp
struct MltOptions {
  MltRules rules;
  std::optional<PartsByDepth> pull_loss_bound = {};
  std::optional<Bandwidth> step = {};
  std::vector<Bytes> thresholds = {};
  std::string parts = "ABC";
};
Fields fields_of(MltOptions& options);
void set_mlt_defaults(PacketSetup& setup);
void read_mlt_fields(Object& fields, MltRules& rules, PacketSetup& setup);
// mlt.cpp
void read_mlt(Object& fields, MltRules rules, PacketSetup& setup);

}  // namespace sgdsim
