// What answers in the place of the CUDA backend where the program was built without it.
#ifndef SGDSIM_HAS_CUDA
#include "calibrate/backend.h"
#include "sim/core/error.h"

namespace sgdsim::calibrate {

std::unique_ptr<Backend> cuda_backend(const std::vector<int>&, double, Processes*) {
  throw InputError("--backend",
                   "this program was built without CUDA; --backend host measures the "
                   "threads of this machine");
}

}  // namespace sgdsim::calibrate
#endif
