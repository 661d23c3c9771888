// A timeline (`sgdsim run --timeline`) as columns: which track, when, what.
#pragma once

#include <string>

#include "sim/core/json.h"

namespace sgdsim {

// {config, version, tracks: [{worker, thread, name}], slices: {track, start_ps, length_ps, ...}}.
// InputError if an event is not as the program writes them.
Json timeline_columns(const Json& timeline, const std::string& file);

}  // namespace sgdsim
