// Timelines that `sgdsim run --timeline` and `sgdsim layout --timeline` write, read back as
// records: a fault that was simulated can be looked for.
#pragma once

#include <string_view>

#include "sim/core/byte_source.h"
#include "sim/work/step_record.h"

namespace sgdsim {

// By its beginning.
bool is_own_timeline(std::string_view head);

// InputError if it holds no step. `steps`: the iterations that are kept; empty: all.
StepRecord read_own_timeline(ByteSource& source, const std::vector<int64_t>& steps);

}  // namespace sgdsim
