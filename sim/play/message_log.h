// Every message of a collective as it happened, for timelines.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/core/units.h"

namespace sgdsim {

struct LoggedMessage {
  int from = 0;
  int to = 0;
  int flow = 0;        // of a pipeline: which of its trees
  int64_t number = 0;  // the round, or the block of a pipeline; -1: not known
  double size_B = 0;
  Time sent;      // the sender begins
  Time left;      // and is free again
  Time taking;    // the receiver begins: with the first byte, or when it is there
  Time taken;     // and has everything
  Duration fold;  // what adding it up takes then
};
using MessageLog = std::vector<LoggedMessage>;

}  // namespace sgdsim
