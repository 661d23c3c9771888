// What the driver says of GPUs, by way of its own library where that is found: what slows them
// down, and who else is there.
#pragma once

#include <vector>

#include "calibrate/backend.h"

namespace sgdsim::calibrate::cuda {

// Empty where the library is not found, or does not start.
std::vector<DeviceState> states_of(const std::vector<int>& devices);

}  // namespace sgdsim::calibrate::cuda
