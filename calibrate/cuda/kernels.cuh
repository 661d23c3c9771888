// The kernels: the sum of two buffers, a copy, an empty one, and the gate before a timed region.
#pragma once

#include <cuda_runtime.h>

#include "calibrate/element.h"

namespace sgdsim::calibrate::cuda {

// to = from + with; any alignment and length, 16 bytes at a time where all three lie alike
// modulo 16.
void launch_sum(Type type, void* to, const void* from, const void* with, int64_t bytes,
                cudaStream_t stream);

// Any alignment and length, too. `from` may be another GPU's, if this one has access to it.
void launch_copy(void* to, const void* from, int64_t bytes, cudaStream_t stream);

void launch_nothing(cudaStream_t stream);

// Holds the stream until gate[0] is not 0, or for some seconds: a host that fails in between must
// not leave the GPU spinning for ever. Then gate[1] is 1.
void launch_gate(volatile int* gate, cudaStream_t stream);

}  // namespace sgdsim::calibrate::cuda
