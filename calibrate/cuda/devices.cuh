// Which GPUs there are, and what is known of them.
#pragma once

#include <cstdint>
#include <cuda_runtime.h>
#include <vector>

#include "calibrate/backend.h"

namespace sgdsim::calibrate::cuda {

// The GPUs to use, or an InputError that says why there are none.
std::vector<int> usable_devices(const std::vector<int>& wanted);

int attribute(cudaDeviceAttr which, int device);
int64_t free_memory_B(int device);

Machine machine_of(const std::vector<int>& devices);

}  // namespace sgdsim::calibrate::cuda
