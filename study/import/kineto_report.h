// What was found in profiles, for people: ranks, streams, steps, collectives.
#pragma once

#include <ostream>

#include "traces/kineto/recording.h"

namespace sgdsim {

void print_recording(const profiler::Recording& recording, std::ostream& out);

}  // namespace sgdsim
