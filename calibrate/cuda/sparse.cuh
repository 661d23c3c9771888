// Selection, merging of pairs and fewer bits on a GPU; the same results as sparse.h.
#pragma once

#include <cuda_runtime.h>

#include "calibrate/cuda/values.cuh"
#include "calibrate/element.h"

namespace sgdsim::calibrate::cuda {

// Room for the sorts of one stream: keys and values twice, and what CUB asks for.
class SortRoom {
 public:
  SortRoom() = default;
  SortRoom(int device, int64_t elements);

  // `count` pairs of the elements at `data` (select), or of two sets of pairs (merge).
  void select(Type type, void* to, const void* data, int64_t bytes, int64_t count,
              cudaStream_t stream);
  void merge(Type type, void* to, const void* from, int64_t count, cudaStream_t stream);

 private:
  template <class T>
  void select(void* to, const void* data, int64_t bytes, int64_t count, cudaStream_t stream);
  template <class T>
  void merge(void* to, const void* from, int64_t count, cudaStream_t stream);
  // By the lowest `bits` of the keys.
  void sort_downwards(int64_t elements, int bits, cudaStream_t stream);
  void sort_upwards(int64_t elements, cudaStream_t stream);

  Memory keys_;
  Memory sorted_keys_;
  Memory pairs_;
  Memory sorted_pairs_;
  Memory room_;
  std::size_t room_B_ = 0;
};

// float32 to float16.
void launch_narrow16(void* to, const void* from, int64_t bytes, cudaStream_t stream);
// The scale at the start of `to` needs no room beside it.
void launch_narrow8(Type type, void* to, const void* from, int64_t bytes, cudaStream_t stream);

}  // namespace sgdsim::calibrate::cuda
