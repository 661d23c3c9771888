// Which pairs of algorithm and protocol NCCL considers at all on a machine (NVIDIA/nccl 2.30,
// src/enqueue.cc and src/graph/tuning.cc).
#pragma once

#include "models/collective/nccl_tuning.h"

namespace sgdsim {

// In words why it does not; empty if it does.
const char* nccl_refusal(const NcclMachine& machine, Operation operation, NcclAlgorithm algorithm,
                         NcclProtocol protocol);

}  // namespace sgdsim
