// NCCL, where the machine has it: taken when the program runs, so that the program does without.
#pragma once

#include <cstdint>
#include <cuda_runtime.h>
#include <memory>
#include <string>
#include <vector>

#include "calibrate/cuda/wait.cuh"
#include "calibrate/element.h"
#include "calibrate/plan/plan.h"

namespace sgdsim::calibrate::cuda {

// Why there is no NCCL, or its version.
struct NcclNews {
  std::string why_not;
  std::string version;
};
const NcclNews& nccl_news();

// Ranks that call NCCL together, each on its own GPU.
class NcclRanks {
 public:
  virtual ~NcclRanks() = default;
  // Between the two, every rank calls once; all of it is queued when end() returns.
  virtual void begin() = 0;
  virtual void call(LibraryCall call, Type type, int rank, void* data, int64_t bytes,
                    cudaStream_t stream) = 0;
  virtual void end() = 0;
};
// Where nccl_news() knows of no reason against it.
std::unique_ptr<NcclRanks> nccl_ranks(const std::vector<int>& devices, const Patience& patience);

}  // namespace sgdsim::calibrate::cuda
