// The fast path: a round is one pass over the array of clocks. No queue, no stored messages.
#pragma once

#include <vector>

#include "sim/net/wires.h"
#include "sim/play/message_log.h"
#include "sim/work/schedule.h"

namespace sgdsim {

// Plays one phase; `clocks` are the workers' clocks before and after. `stage` numbers the phase
// within its program, for the jitter's draws.
void play_in_rounds(const Phase& phase, uint64_t stage, const Wires& wires,
                    const MessageJitter& jitter, std::vector<Time>& clocks,
                    MessageLog* log = nullptr);

}  // namespace sgdsim
