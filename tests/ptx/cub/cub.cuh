// What sparse.cu calls of CUB, for nvcc -ptx: the reduction of a block, which is part of a kernel
// there, is CUB's own; of its sorts, histograms and selections only the names are here, because
// their kernels are not interpreted and would take most of the compiler's time. The kernels of
// sparse.cu come out the same but for the numbers in labels. What those algorithms ask for each
// entry becomes small kernels of its own, so that it is interpreted too.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cub/block/block_reduce.cuh>
#include <cuda_runtime.h>

namespace sgdsim {

template <class Entries>
__global__ void ask_entries(typename Entries::value_type* to, Entries entries, int64_t at) {
  to[threadIdx.x] = (entries + at)[threadIdx.x];
}

template <class Question>
__global__ void ask_pairs(bool* to, const uint64_t* pairs, Question question) {
  to[threadIdx.x] = question(pairs[threadIdx.x]);
}

template <class... Parameters>
cudaError_t make(void (*kernel)(Parameters...)) {
  return kernel == nullptr ? cudaErrorUnknown : cudaSuccess;
}

}  // namespace sgdsim

namespace cub {

struct DeviceRadixSort {
  template <class... Arguments>
  static cudaError_t SortPairs(const Arguments&...) {
    return cudaSuccess;
  }
  template <class... Arguments>
  static cudaError_t SortPairsDescending(const Arguments&...) {
    return cudaSuccess;
  }
};

struct DeviceHistogram {
  template <class Entries, class... Arguments>
  static cudaError_t HistogramEven(void*, std::size_t&, Entries, const Arguments&...) {
    return sgdsim::make(sgdsim::ask_entries<Entries>);
  }
};

struct DeviceSelect {
  template <class Entries, class Question>
  static cudaError_t If(void*, std::size_t&, Entries, uint64_t*, uint32_t*, int64_t, Question,
                        cudaStream_t = nullptr) {
    const cudaError_t made = sgdsim::make(sgdsim::ask_entries<Entries>);
    return made == cudaSuccess ? sgdsim::make(sgdsim::ask_pairs<Question>) : made;
  }
};

}  // namespace cub
