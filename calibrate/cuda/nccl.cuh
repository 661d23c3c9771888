// NCCL, where the machine has it: taken when the program runs, so that the program does without.
#pragma once

#include <cstdint>
#include <cuda_runtime.h>
#include <functional>
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

// Which of all ranks are in this process, from `first` on, each on its GPU.
struct NcclTeam {
  int ranks = 0;
  int first = 0;
  std::vector<int> devices;
  LibrarySetting setting;
  bool has_name = true;  // this process makes up the name under which they find each other
  // Called by all processes: what the one with the name gave.
  std::function<std::string(const std::string&)> from_first;
};

// A rank's part of a collective, in place.
struct NcclCall {
  LibraryCall what = LibraryCall::allreduce;
  Type type = Type::float32;
  int rank = 0;
  std::byte* data = nullptr;
  int64_t bytes = 0;
};

// Ranks that call NCCL together, each on its own GPU.
class NcclRanks {
 public:
  virtual ~NcclRanks() = default;
  // Does what calls NCCL in a thread of the library's own and waits for its end. NCCL blocks; if it
  // does so for longer than the patience, its communicators are aborted and the wait is given up.
  virtual void during(const std::function<void()>& calls) = 0;
  // In there: between the two, every rank of this process calls once; all of it is queued when
  // end() returns.
  virtual void begin() = 0;
  virtual void call(const NcclCall& call, cudaStream_t stream) = 0;
  virtual void end() = 0;
};
// Where nccl_news() knows of no reason against it.
std::unique_ptr<NcclRanks> nccl_ranks(const NcclTeam& team, const Patience& patience);

}  // namespace sgdsim::calibrate::cuda
