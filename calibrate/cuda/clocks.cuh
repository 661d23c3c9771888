// At what rate the multiprocessors of a GPU run: their counters of cycles against the timer of the
// GPU, which runs alike at any rate.
//
// Counters of different multiprocessors do not begin together, so each is compared with itself: a
// look stores those of all of them, and the rate is the median over those that two looks have both
// met. The driver's own figure is that of a moment; this one is the mean between two looks.
#pragma once

#include <cuda_runtime.h>

#include "calibrate/cuda/values.cuh"
#include "calibrate/cuda/wait.cuh"

namespace sgdsim::calibrate::cuda {

struct ClockLook {
  uint64_t cycles = 0;
  uint64_t ns = 0;
  unsigned processor = 0;
};

#ifdef __CUDACC__
__device__ inline uint64_t global_ns() {
  uint64_t ns = 0;
  asm volatile("mov.u64 %0, %globaltimer;" : "=l"(ns));
  return ns;
}
__device__ inline unsigned processor_number() {
  unsigned number = 0;
  asm volatile("mov.u32 %0, %smid;" : "=r"(number));
  return number;
}
__device__ inline uint64_t cycles() { return static_cast<uint64_t>(clock64()); }
#else
inline uint64_t global_ns() { return stand_in_ns(); }
inline unsigned processor_number() { return blockIdx.x; }
inline uint64_t cycles() { return stand_in_cycles(); }
#endif

class Clocks {
 public:
  Clocks(int device, const Patience& patience);

  // Queues a look, before or after something, in a stream of this GPU.
  void look_before(cudaStream_t stream);
  void look_after(cudaStream_t stream);
  // Between both, once they are done; 0 if no multiprocessor was met twice.
  double mean_MHz() const;
  // Keeps all multiprocessors busy until the rate stands still, for a second at most; the rate.
  double warm_up(cudaStream_t stream);
  double highest_MHz() const;

 private:
  ClockLook* looks(int which) const;
  void look(int which, cudaStream_t stream);

  int device_;
  const Patience& patience_;
  unsigned processors_;
  HostMemory looks_;
  HostMemory nowhere_;
};

}  // namespace sgdsim::calibrate::cuda
