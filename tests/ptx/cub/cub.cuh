// What sparse.cu calls of CUB, for nvcc -ptx: the reduction of a block, which is part of a kernel
// there, is CUB's own; of its sorts, histograms and selections only the names are here, because
// their kernels are not interpreted and would take most of the compiler's time. The kernels of
// sparse.cu come out the same but for the numbers in labels.
#pragma once

#include <cub/block/block_reduce.cuh>
#include <cuda_runtime.h>

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
  template <class... Arguments>
  static cudaError_t HistogramEven(const Arguments&...) {
    return cudaSuccess;
  }
};

struct DeviceSelect {
  template <class... Arguments>
  static cudaError_t If(const Arguments&...) {
    return cudaSuccess;
  }
};

}  // namespace cub
