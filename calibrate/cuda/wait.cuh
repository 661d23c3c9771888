// Waits that end: the host asks again and again, and gives up after a while.
//
// What hangs on a GPU hangs whoever frees its memory or its streams, too. So after a wait that was
// given up nothing is freed any more: everything is left to the end of the process.
#pragma once

#include <cuda_runtime.h>
#include <functional>
#include <stdexcept>
#include <string>

namespace sgdsim::calibrate::cuda {

struct Patience {
  double seconds = 60;
  std::function<bool()> is_interrupted;
};

// Whether a wait was given up. State of the process, as are the GPUs.
bool has_given_up();
// Forgets it; for tests, whose next GPU is another one.
void forget_given_up();

// Until answer() is something else than "not ready". std::runtime_error if it is no success, or if
// the patience is over: five seconds where somebody interrupts.
void wait_for(const std::function<cudaError_t()>& answer, const Patience& patience,
              const std::string& what);
void wait_for_stream(cudaStream_t stream, const Patience& patience, const std::string& what);
void wait_for_event(cudaEvent_t event, const Patience& patience, const std::string& what);

}  // namespace sgdsim::calibrate::cuda
