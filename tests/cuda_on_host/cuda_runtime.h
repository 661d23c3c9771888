// A stand-in for the part of the CUDA runtime that calibrate/ uses: its .cu files, compiled by the
// C++ compiler against this folder, run on the CPU, where there is neither a GPU nor the toolkit.
//
// It is stricter than the real one. Nothing queued runs before the host waits for it, unless a test
// lets work go on meanwhile, and then in any order that streams, events and graphs leave open,
// drawn from a seed; what the real runtime would refuse, or leave undefined, is an error. What it
// does not show: threads of a kernel run one after the other, so there are no races within a
// kernel, no __syncthreads, no memory model, and no speed; the host has one thread. Streams are
// made not to block, as everywhere in calibrate/.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <tuple>
#include <type_traits>
#include <vector>

#define __global__
#define __device__
#define __host__
#define __forceinline__ inline
#define __launch_bounds__(...)
#define __shared__ static  // threads run one after the other, and write before they read

#define SGDSIM_CUDA_ERRORS(X)          \
  X(cudaSuccess)                       \
  X(cudaErrorInvalidValue)             \
  X(cudaErrorMemoryAllocation)         \
  X(cudaErrorInvalidConfiguration)     \
  X(cudaErrorInvalidMemcpyDirection)   \
  X(cudaErrorNoDevice)                 \
  X(cudaErrorInvalidDevice)            \
  X(cudaErrorInvalidResourceHandle)    \
  X(cudaErrorNotReady)                 \
  X(cudaErrorIllegalAddress)           \
  X(cudaErrorLaunchTimeout)            \
  X(cudaErrorLaunchFailure)            \
  X(cudaErrorPeerAccessAlreadyEnabled) \
  X(cudaErrorPeerAccessUnsupported)    \
  X(cudaErrorNotSupported)             \
  X(cudaErrorStreamCaptureUnsupported) \
  X(cudaErrorStreamCaptureInvalidated) \
  X(cudaErrorStreamCaptureMerge)       \
  X(cudaErrorStreamCaptureUnmatched)   \
  X(cudaErrorStreamCaptureUnjoined)    \
  X(cudaErrorStreamCaptureIsolation)   \
  X(cudaErrorCapturedEvent)
#define SGDSIM_ENUMERATOR(name) name,
enum cudaError_t { SGDSIM_CUDA_ERRORS(SGDSIM_ENUMERATOR) };
#undef SGDSIM_ENUMERATOR

enum cudaMemcpyKind {
  cudaMemcpyHostToHost,
  cudaMemcpyHostToDevice,
  cudaMemcpyDeviceToHost,
  cudaMemcpyDeviceToDevice,
  cudaMemcpyDefault
};
enum cudaDeviceAttr {
  cudaDevAttrClockRate,
  cudaDevAttrMemoryClockRate,
  cudaDevAttrGlobalMemoryBusWidth,
  cudaDevAttrL2CacheSize,
  cudaDevAttrMultiProcessorCount
};
enum cudaStreamCaptureMode { cudaStreamCaptureModeGlobal, cudaStreamCaptureModeThreadLocal };
constexpr unsigned cudaStreamNonBlocking = 1;
constexpr unsigned cudaEventDefault = 0;
constexpr unsigned cudaEventDisableTiming = 2;
constexpr unsigned cudaEventRecordExternal = 1;
constexpr unsigned cudaHostAllocDefault = 0;
constexpr unsigned cudaHostAllocPortable = 1;
constexpr unsigned cudaHostAllocMapped = 2;

using cudaStream_t = struct CUstream_st*;
using cudaEvent_t = struct CUevent_st*;
using cudaGraph_t = struct CUgraph_st*;
using cudaGraphExec_t = struct CUgraphExec_st*;
struct cudaDeviceProp {
  char name[256];
};
struct uint3 {
  unsigned x = 0, y = 0, z = 0;
};
struct dim3 {
  constexpr dim3(unsigned x_ = 1, unsigned y_ = 1, unsigned z_ = 1) : x(x_), y(y_), z(z_) {}
  unsigned x, y, z;
};
struct cudaLaunchConfig_t {
  dim3 gridDim;
  dim3 blockDim;
  std::size_t dynamicSmemBytes = 0;
  cudaStream_t stream = nullptr;
  void* attrs = nullptr;
  unsigned numAttrs = 0;
};

const char* cudaGetErrorString(cudaError_t error);
cudaError_t cudaGetLastError();
cudaError_t cudaPeekAtLastError();

cudaError_t cudaDriverGetVersion(int* version);
cudaError_t cudaRuntimeGetVersion(int* version);
cudaError_t cudaGetDeviceCount(int* count);
cudaError_t cudaGetDevice(int* device);
cudaError_t cudaSetDevice(int device);
cudaError_t cudaDeviceGetPCIBusId(char* name, int length, int device);
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device);
cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr which, int device);
// How kernels fill a GPU is not counted among the calls: a launch would else be three of them.
template <class Kernel>
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, Kernel, int threads,
                                                          std::size_t) {
  return *blocks = 1024 / threads, cudaSuccess;
}
cudaError_t cudaDeviceCanAccessPeer(int* can, int device, int peer);
cudaError_t cudaDeviceEnablePeerAccess(int peer, unsigned flags);
cudaError_t cudaDeviceSynchronize();

cudaError_t cudaMemGetInfo(std::size_t* free_bytes, std::size_t* all_bytes);
cudaError_t cudaMalloc(void** memory, std::size_t bytes);
cudaError_t cudaFree(void* memory);
cudaError_t cudaHostAlloc(void** memory, std::size_t bytes, unsigned flags);
cudaError_t cudaFreeHost(void* memory);
cudaError_t cudaMemcpy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind);
cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind,
                            cudaStream_t stream = nullptr);
cudaError_t cudaMemset(void* to, int value, std::size_t bytes);
cudaError_t cudaMemsetAsync(void* to, int value, std::size_t bytes, cudaStream_t stream = nullptr);

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned flags);
cudaError_t cudaStreamDestroy(cudaStream_t stream);
cudaError_t cudaStreamSynchronize(cudaStream_t stream);
cudaError_t cudaStreamQuery(cudaStream_t stream);
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned flags = 0);
cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned flags);
cudaError_t cudaEventDestroy(cudaEvent_t event);
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream = nullptr);
cudaError_t cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t stream, unsigned flags);
cudaError_t cudaEventSynchronize(cudaEvent_t event);
cudaError_t cudaEventQuery(cudaEvent_t event);
cudaError_t cudaEventElapsedTime(float* ms, cudaEvent_t start, cudaEvent_t stop);

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode mode);
cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph);
cudaError_t cudaGraphDestroy(cudaGraph_t graph);
cudaError_t cudaGraphInstantiate(cudaGraphExec_t* exec, cudaGraph_t graph, unsigned flags = 0);
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t exec);
cudaError_t cudaGraphUpload(cudaGraphExec_t exec, cudaStream_t stream);
cudaError_t cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t stream);

// ---- what a test may do with it

namespace sgdsim::cuda_on_host {

constexpr std::size_t memory_B = std::size_t{1} << 30;  // of every GPU
// As in a new process, on a machine with so many GPUs; can they access each other's memory?
void restart(int devices, bool are_peers = true);
// The orders from here on.
void set_order(uint64_t seed);
// Streams, events, graphs and pieces of memory that have not been destroyed.
int alive();

// How many calls there were since the restart; those that destroy something, or ask for the last
// error, do not count.
int calls();
// From the call of this number on, from 1: it fails, and so do all later ones if it is sticky.
void fail_call(int number, cudaError_t error, bool is_sticky);
// Before the call of this number.
void at_call(int number, std::function<void()> what);
// The rate of the processors at a moment, counted from the restart; 1000 MHz if nobody says.
void set_clock(std::function<double(double us)> MHz);
// Launches wait for what they launch, as under CUDA_LAUNCH_BLOCKING.
void block_launches();
// Whoever asks for memory waits for all that is queued, as where the driver has to make room.
void let_allocation_wait();
// Between two calls up to so many pieces of work are done, as while the host goes on.
void work_meanwhile(int most);
// How many launches may wait; the next one makes the host wait until one of them is done. Each node
// of a graph counts.
void set_queue_depth(std::size_t launches);
// After so many pieces of work the GPUs do nothing any more.
void hang_after(int works);
int works();
// Whether a call waited for a GPU that hangs: a real one would never have come back.
bool has_hung();

// Thrown by what runs on a "GPU": from then on all calls fail with it, as after a real fault.
struct Fault {
  cudaError_t error = cudaSuccess;
};
// Takes work that reads and writes through `pointers` to a stream; for a kernel `kernel` is its
// address, and nullptr otherwise.
cudaError_t issue(cudaStream_t stream, const void* kernel,
                  const std::vector<const volatile void*>& pointers, std::function<void()> work);
cudaError_t issue_grid(const cudaLaunchConfig_t& config, const void* kernel,
                       const std::vector<const volatile void*>& pointers,
                       std::function<void()> thread);

}  // namespace sgdsim::cuda_on_host

template <class... Parameters, class... Arguments>
cudaError_t cudaLaunchKernelEx(const cudaLaunchConfig_t* config, void (*kernel)(Parameters...),
                               Arguments&&... arguments) {
  const std::tuple<Parameters...> values(std::forward<Arguments>(arguments)...);
  std::vector<const volatile void*> pointers;
  const auto collect = [&](const auto& value) {
    if constexpr (std::is_pointer_v<std::decay_t<decltype(value)>>) pointers.push_back(value);
  };
  std::apply([&](const auto&... value) { (collect(value), ...); }, values);
  return sgdsim::cuda_on_host::issue_grid(*config, reinterpret_cast<const void*>(kernel), pointers,
                                          [kernel, values] { std::apply(kernel, values); });
}

// ---- within kernels

inline constinit thread_local uint3 threadIdx;
inline constinit thread_local uint3 blockIdx;
inline constinit thread_local dim3 blockDim;
inline constinit thread_local dim3 gridDim;

using std::max;
using std::min;

uint64_t stand_in_cycles();
// A kernel that looks at the clock again and again waits for something that does not come.
uint64_t stand_in_ns();

inline unsigned __float_as_uint(float value) { return std::bit_cast<unsigned>(value); }
inline float __uint_as_float(unsigned bits) { return std::bit_cast<float>(bits); }
inline int __float_as_int(float value) { return std::bit_cast<int>(value); }
inline float __int_as_float(int bits) { return std::bit_cast<float>(bits); }

template <class T>
T atomicMax(T* at, std::type_identity_t<T> value) {
  const T before = *at;
  *at = std::max(before, value);
  return before;
}
template <class T>
T atomicMin(T* at, std::type_identity_t<T> value) {
  const T before = *at;
  *at = std::min(before, value);
  return before;
}
template <class T>
T atomicAdd(T* at, std::type_identity_t<T> value) {
  const T before = *at;
  *at = static_cast<T>(before + value);
  return before;
}
