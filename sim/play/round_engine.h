// The fast path: a round is one pass over the array of clocks. No queue, no stored messages.
#pragma once

#include <vector>

#include "sim/core/stopper.h"
#include "sim/net/wires.h"
#include "sim/play/message_log.h"
#include "sim/work/schedule.h"

namespace sgdsim {

// Plays one phase; `clocks` are the workers' clocks before and after. `stage` numbers the phase
// within its program, for the jitter's draws. Of `stopper` only looks are asked for.
void play_in_rounds(const Phase& phase, uint64_t stage, const Wires& wires,
                    const MessageJitter& jitter, std::vector<Time>& clocks,
                    MessageLog* log = nullptr, const Stopper* stopper = nullptr);

}  // namespace sgdsim
