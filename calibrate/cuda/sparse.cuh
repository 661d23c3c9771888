// Selection, merging of pairs and fewer bits on a GPU; the same results as sparse.h.
#pragma once

#include <cuda_runtime.h>

#include "calibrate/cuda/values.cuh"
#include "calibrate/element.h"

namespace sgdsim::calibrate::cuda {

// Room for the selections and merges of one stream.
class SparseRoom {
 public:
  SparseRoom() = default;
  // For selections among so many elements, and sorts of so many pairs.
  SparseRoom(int device, int64_t elements, int64_t pairs);
  // What that takes at most.
  static int64_t room_B(int64_t elements, int64_t pairs);

  // `count` pairs of the elements at `data` (select), or of two sets of pairs (merge).
  void select(Type type, void* to, const void* data, int64_t bytes, int64_t count,
              cudaStream_t stream);
  void merge(Type type, void* to, const void* from, int64_t count, cudaStream_t stream);

 private:
  template <class T>
  void select(void* to, const void* data, int64_t bytes, int64_t count, cudaStream_t stream);
  template <class T>
  void choose(const T* data, int64_t elements, int64_t count, cudaStream_t stream);
  template <class T>
  void merge(void* to, const void* from, int64_t count, cudaStream_t stream);
  // By the lowest `bits` of the keys.
  void sort_downwards(int64_t pairs, int bits, cudaStream_t stream);
  void sort_upwards(int64_t pairs, cudaStream_t stream);

  Memory keys_;
  Memory sorted_keys_;
  Memory pairs_;
  Memory sorted_pairs_;
  Memory equal_;      // pairs of the least magnitude that is chosen
  Memory choices_;    // how far the choice has come, after each digit
  Memory histogram_;  // of a digit
  Memory counts_;     // of what was found
  Memory room_;       // CUB's
  std::size_t room_B_ = 0;
};

// float32 to float16.
void launch_narrow16(void* to, const void* from, int64_t bytes, cudaStream_t stream);
// The scale at the start of `to` needs no room beside it.
void launch_narrow8(Type type, void* to, const void* from, int64_t bytes, cudaStream_t stream);

}  // namespace sgdsim::calibrate::cuda
