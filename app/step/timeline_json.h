// A timeline as a Chrome trace, which Perfetto and chrome://tracing open.
#pragma once

#include <string>

#include "app/step/experiment.h"
#include "sim/play/timeline.h"

namespace sgdsim {

// One process per worker; one thread for its computation and one per channel, so that slices nest.
// A flow arrow leads from each gradient to the message that carries it.
std::string timeline_json(const Experiment& experiment, const Timeline& timeline);

}  // namespace sgdsim
