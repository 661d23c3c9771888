// Backends of several processes that measure together.
#pragma once

#include <memory>

#include "calibrate/backend.h"
#include "calibrate/processes/processes.h"

namespace sgdsim::calibrate {

// What one process does; its ranks only.
std::unique_ptr<Backend> host_process(Processes& processes);

// All of them: in step, with the time of the slowest.
std::unique_ptr<Backend> in_step(std::unique_ptr<Backend> own, Processes& processes);

}  // namespace sgdsim::calibrate
