// The event path for phases: the same rounds as round_engine.h, message by message, in time order.
#pragma once

#include <vector>

#include "sim/net/wires.h"
#include "sim/work/schedule.h"

namespace sgdsim {

void play_by_events(const Phase& phase, uint64_t stage, const Wires& wires,
                    const MessageJitter& jitter, std::vector<Time>& clocks);

}  // namespace sgdsim
