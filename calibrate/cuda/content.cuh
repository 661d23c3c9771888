// Filling, reading and comparing a rank's data on its GPU: what a host would do in seconds a GPU
// does in milliseconds. What travels between them goes by way of pinned memory: other memory makes
// the host wait in a call that has no end to it.
#pragma once

#include <cstddef>
#include <vector>

#include "calibrate/cuda/values.cuh"
#include "calibrate/cuda/wait.cuh"
#include "calibrate/stretch.h"

namespace sgdsim::calibrate::cuda {

class Content {
 public:
  explicit Content(const Patience& patience) : patience_(patience) {}

  // `data`: of a rank, on this GPU.
  void write(int device, std::byte* data, const Stretch& stretch);
  std::vector<std::byte> read(int device, const std::byte* data, int64_t bytes);
  // As of Stretch.
  int64_t first_difference(int device, const std::byte* data, const Stretch& stretch);

 private:
  // From the host to a GPU, or back.
  void send(std::byte* to, const std::byte* from, std::size_t bytes);
  void fetch(std::byte* to, const std::byte* from, std::size_t bytes);
  void copy_piece(void* to, const void* from, std::size_t bytes);
  // The period of a stretch, where kernels of the GPU find it.
  const uint16_t* sent_period(int device, const Stretch& stretch);

  const Patience& patience_;
  HostMemory piece_;
  int device_ = -1;  // of the following
  Memory period_;
  std::size_t period_B_ = 0;
  Memory first_;
};

}  // namespace sgdsim::calibrate::cuda
