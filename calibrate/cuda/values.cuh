// Streams, events, graphs and device memory as values that free what they own; checked calls and
// launches.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cuda_runtime.h>
#include <stdexcept>
#include <string>
#include <utility>

namespace sgdsim::calibrate::cuda {

inline void check(cudaError_t answer, const char* call, const char* file, int line) {
  if (answer == cudaSuccess) return;
  const std::string name(file);  // without the folders of whoever built this
  throw std::runtime_error(name.substr(name.rfind('/') + 1) + ":" + std::to_string(line) + ": " +
                           call + ": " + cudaGetErrorString(answer));
}
#define SGDSIM_CUDA_CHECK(call) ::sgdsim::calibrate::cuda::check((call), #call, __FILE__, __LINE__)

// Makes a device current until the end of the scope.
class OnDevice {
 public:
  explicit OnDevice(int device) {
    SGDSIM_CUDA_CHECK(cudaGetDevice(&before_));
    SGDSIM_CUDA_CHECK(cudaSetDevice(device));
  }
  OnDevice(const OnDevice&) = delete;
  OnDevice& operator=(const OnDevice&) = delete;
  ~OnDevice() { static_cast<void>(cudaSetDevice(before_)); }

 private:
  int before_ = 0;
};

// Whether something on a GPU was given up (wait.cuh): then freeing anything might hang as well.
bool has_given_up();

// A handle with one owner. Destructors cannot report: what fails there has failed before.
template <class Handle, cudaError_t (*destroy)(Handle)>
class Owned {
 public:
  Owned() = default;
  explicit Owned(Handle handle) : handle_(handle) {}
  Owned(Owned&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Owned& operator=(Owned&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  Owned(const Owned&) = delete;
  Owned& operator=(const Owned&) = delete;
  ~Owned() {
    if (handle_ != nullptr && !has_given_up()) static_cast<void>(destroy(handle_));
  }
  Handle get() const { return handle_; }

 private:
  Handle handle_ = nullptr;
};

using Stream = Owned<cudaStream_t, cudaStreamDestroy>;
using Event = Owned<cudaEvent_t, cudaEventDestroy>;
using Graph = Owned<cudaGraph_t, cudaGraphDestroy>;
using GraphExec = Owned<cudaGraphExec_t, cudaGraphExecDestroy>;
using Memory = Owned<void*, cudaFree>;
using HostMemory = Owned<void*, cudaFreeHost>;

inline Stream make_stream(int device) {
  const OnDevice there(device);
  cudaStream_t stream = nullptr;
  SGDSIM_CUDA_CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  return Stream(stream);
}

inline Event make_event(int device, unsigned flags) {
  const OnDevice there(device);
  cudaEvent_t event = nullptr;
  SGDSIM_CUDA_CHECK(cudaEventCreateWithFlags(&event, flags));
  return Event(event);
}

inline Memory make_memory(int device, std::size_t bytes) {
  const OnDevice there(device);
  void* memory = nullptr;
  SGDSIM_CUDA_CHECK(cudaMalloc(&memory, bytes == 0 ? 1 : bytes));
  return Memory(memory);
}

// Pinned, and known to every GPU under the same address.
inline HostMemory make_host_memory(std::size_t bytes) {
  void* memory = nullptr;
  SGDSIM_CUDA_CHECK(
      cudaHostAlloc(&memory, bytes == 0 ? 1 : bytes, cudaHostAllocMapped | cudaHostAllocPortable));
  return HostMemory(memory);
}

constexpr int threads_of_block = 256;

// Blocks for a loop over `count` elements: a thread each, and no more than the current GPU holds of
// this kernel at once, because a block that waits for a place does nothing that one more turn of
// the loop would not do.
template <class... Parameters>
unsigned blocks_for(int64_t count, void (*kernel)(Parameters...)) {
  int device = 0;
  int processors = 0;
  int each = 0;
  SGDSIM_CUDA_CHECK(cudaGetDevice(&device));
  SGDSIM_CUDA_CHECK(cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device));
  SGDSIM_CUDA_CHECK(
      cudaOccupancyMaxActiveBlocksPerMultiprocessor(&each, kernel, threads_of_block, 0));
  const int64_t most = std::max<int64_t>(1, int64_t{processors} * each);
  return static_cast<unsigned>(
      std::clamp<int64_t>((count + threads_of_block - 1) / threads_of_block, 1, most));
}

// The one way to start a kernel.
template <class... Parameters, class... Arguments>
void launch(void (*kernel)(Parameters...), unsigned blocks, unsigned threads, cudaStream_t stream,
            Arguments... arguments) {
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(blocks);
  config.blockDim = dim3(threads);
  config.stream = stream;
  SGDSIM_CUDA_CHECK(cudaLaunchKernelEx(&config, kernel, static_cast<Parameters>(arguments)...));
}

// A loop over `count` elements.
template <class... Parameters, class... Arguments>
void launch_over(int64_t count, void (*kernel)(Parameters...), cudaStream_t stream,
                 Arguments... arguments) {
  launch(kernel, blocks_for(count, kernel), threads_of_block, stream, arguments...);
}

}  // namespace sgdsim::calibrate::cuda
