// A recorded training step as a case: `sgdsim validate` replays it with its buckets and says how
// far the prediction is from the recorded iteration.
#pragma once

#include <optional>
#include <string>

#include "sim/core/json.h"
#include "traces/kineto/to_trace.h"

namespace sgdsim {

// `cluster` is what the case says, a name, a path or the cluster itself: its collectives are then
// simulated. Without one, each all-reduce takes the transfer time that was recorded. InputError if
// the buckets cannot be replayed.
Json replay_case(const profiler::Recording& recording, const profiler::ImportedStep& step,
                 const std::optional<Json>& cluster);

}  // namespace sgdsim
