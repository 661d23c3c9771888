// Which GPUs there are, and what is known of them.
#pragma once

#include <cstdint>
#include <cuda_runtime.h>
#include <string>
#include <vector>

#include "calibrate/backend.h"
#include "calibrate/processes/processes.h"

namespace sgdsim::calibrate::cuda {

// The GPUs to use, or an InputError that says why there are none.
std::vector<int> usable_devices(const std::vector<int>& wanted);

int attribute(cudaDeviceAttr which, int device);
int64_t free_memory_B(int device);
// "0000:3b:00.0", whatever the number under which a process sees it.
std::string bus_of(int device);

// Of several processes on one node, to which CUDA shows the same GPUs, each takes its share; where
// there are more processes than GPUs, they share them.
std::vector<int> share_of(const std::vector<int>& devices, Processes& processes);
// Why NCCL cannot run: two processes that have the same GPU. Empty otherwise.
std::string why_shared(const std::vector<int>& devices, Processes& processes);

// Without peer access the driver stages a copy through the host, which is then what is measured:
// answers between which GPUs.
std::vector<std::string> enable_peers(const std::vector<int>& devices);

Machine machine_of(const std::vector<int>& devices);

}  // namespace sgdsim::calibrate::cuda
