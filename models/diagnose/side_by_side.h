// Exchanges of one worker that lie beside each other in a record, on several channels or in flight
// to servers: these do not wait for each other.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "sim/work/step_record.h"

namespace sgdsim::diagnose {

// Starts and ends of one worker's clock that count as the same moment (the artefact's 50 us).
inline constexpr int64_t same_moment_ns = 50'000;

// Who waits, and for whom: each for the one that ended last of those that had ended when it began.
// `operations`: those of the step, as numbers in the record; `exchanges` are places in them.
std::vector<std::pair<uint32_t, uint32_t>> waits_of_exchanges(
    const StepRecord& record, const std::vector<uint32_t>& operations,
    std::vector<uint32_t> exchanges);

}  // namespace sgdsim::diagnose
