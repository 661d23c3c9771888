// A timeline as a Chrome trace, which Perfetto and chrome://tracing open.
#pragma once

#include <string>

#include "app/step/experiment.h"
#include "sim/timeline.h"

namespace sgdsim {

// One process per worker; one thread for its computation and one per channel, so that slices nest.
// Times are microseconds with six decimals, the simulator's picoseconds. A flow arrow leads from
// each gradient to the message that carries it.
std::string timeline_json(const Experiment& experiment, const Timeline& timeline);

// "0-3,7" as worker numbers; an error if one does not exist.
std::vector<int> parse_workers(const std::string& text, int workers, const std::string& where);

}  // namespace sgdsim
