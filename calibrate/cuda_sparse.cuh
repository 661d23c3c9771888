// Selection, merging of pairs and fewer bits on a GPU; the same results as sparse.h.
#pragma once

#include <cuda_runtime.h>

#include "calibrate/cuda_values.cuh"

namespace sgdsim::calibrate::cuda {

// Room for the sorts of one stream: keys and values twice, and what CUB asks for.
class SortRoom {
 public:
  SortRoom() = default;
  SortRoom(int device, int64_t elements);

  // `count` pairs of the `elements` float32 at `data` (select), or of two sets of pairs (merge).
  void select(void* to, const void* data, int64_t elements, int64_t count, cudaStream_t stream);
  void merge(void* to, const void* from, int64_t count, cudaStream_t stream);

 private:
  void sort_by_size(int64_t elements, cudaStream_t stream);
  void sort_by_index(int64_t elements, cudaStream_t stream);

  Memory keys_;
  Memory sorted_keys_;
  Memory pairs_;
  Memory sorted_pairs_;
  Memory room_;
  std::size_t room_B_ = 0;
};

void launch_narrow16(void* to, const void* from, int64_t elements, cudaStream_t stream);
// The scale at the start of `to` needs no room beside it.
void launch_narrow8(void* to, const void* from, int64_t elements, cudaStream_t stream);

}  // namespace sgdsim::calibrate::cuda
