// The stand-in itself: what it refuses, that it is as late as a GPU may be, and in every order.
#include <doctest/doctest.h>

#include "calibrate/cuda/kernels.cuh"
#include "calibrate/cuda/values.cuh"
#include "tests/cuda_on_host/cub/cub.cuh"
#include "tests/cuda_on_host/cuda_bf16.h"
#include "tests/cuda_on_host/cuda_fp16.h"

namespace sgdsim::cuda_on_host {
namespace {

using calibrate::cuda::Event;
using calibrate::cuda::Graph;
using calibrate::cuda::GraphExec;
using calibrate::cuda::HostMemory;
using calibrate::cuda::make_event;
using calibrate::cuda::make_memory;
using calibrate::cuda::make_stream;
using calibrate::cuda::Memory;
using calibrate::cuda::OnDevice;
using calibrate::cuda::Stream;

constexpr std::size_t bytes = 64;

__global__ void set_to(int* at, int value) { *at = value; }
__global__ void add_one(int* at) { atomicAdd(at, 1); }
__global__ void sum_threads(int* at) {
  using Reduce = cub::BlockReduce<int, 64>;
  __shared__ typename Reduce::TempStorage room;
  const int sum = Reduce(room).Sum(static_cast<int>(threadIdx.x));
  if (threadIdx.x == 0) *at = sum;
}
__global__ void sum_some_threads(int* at) {
  if (threadIdx.x != 3) sum_threads(at);
}

template <class... Parameters, class... Arguments>
cudaError_t start(cudaStream_t stream, unsigned blocks, unsigned threads,
                  void (*kernel)(Parameters...), Arguments... arguments) {
  const cudaLaunchConfig_t config{.gridDim = blocks, .blockDim = threads, .stream = stream};
  return cudaLaunchKernelEx(&config, kernel, static_cast<Parameters>(arguments)...);
}

HostMemory make_host_memory() {
  void* memory = nullptr;
  SGDSIM_CUDA_CHECK(cudaHostAlloc(&memory, bytes, cudaHostAllocDefault));
  return HostMemory(memory);
}

// Two GPUs that are no peers, with what calls need: of the first, unless it says `far`.
struct Room {
  cudaError_t capture() {
    return cudaStreamBeginCapture(stream.get(), cudaStreamCaptureModeThreadLocal);
  }
  cudaError_t end_capture() {
    cudaGraph_t captured = nullptr;
    const cudaError_t answer = cudaStreamEndCapture(stream.get(), &captured);
    graph = Graph(captured);
    return answer;
  }
  cudaError_t fork() {
    cudaEventRecord(event.get(), stream.get());
    return cudaStreamWaitEvent(other.get(), event.get());
  }
  cudaError_t join() {
    cudaEventRecord(event.get(), other.get());
    return cudaStreamWaitEvent(stream.get(), event.get());
  }
  GraphExec instance() {
    cudaGraphExec_t exec = nullptr;
    SGDSIM_CUDA_CHECK(cudaGraphInstantiate(&exec, graph.get()));
    return GraphExec(exec);
  }
  int* number() const { return static_cast<int*>(memory.get()); }

  // First, so that all else comes after the restart.
  struct Restart {
    Restart() { restart(2, false); }
  } restarted;
  Stream stream = make_stream(0);
  Stream other = make_stream(0);
  Stream far_stream = make_stream(1);
  Event event = make_event(0, cudaEventDefault);
  Event far_event = make_event(1, cudaEventDefault);
  Event untimed = make_event(0, cudaEventDisableTiming);
  Memory memory = make_memory(0, bytes);
  Memory far_memory = make_memory(1, bytes);
  HostMemory pinned = make_host_memory();
  Graph graph;
};

struct Row {
  std::string reason;
  cudaError_t expected;
  cudaError_t (*call)(Room& room);
};

void check(const std::vector<Row>& rows) {
  for (const Row& row : rows) {
    Room room;
    INFO(row.reason);
    CHECK(std::string(cudaGetErrorString(row.call(room))) == cudaGetErrorString(row.expected));
  }
}

TEST_CASE("cuda on host: what captures refuse") {
  check({
      {"a stream that joined and was waited for", cudaSuccess,
       [](Room& r) { return r.capture(), r.fork(), r.join(), r.end_capture(); }},
      {"one that was not", cudaErrorStreamCaptureUnjoined,
       [](Room& r) { return r.capture(), r.fork(), r.end_capture(); }},
      {"work after it was waited for", cudaErrorStreamCaptureUnjoined,
       [](Room& r) {
         r.capture(), r.fork(), r.join();
         start(r.other.get(), 1, 1, add_one, r.number());
         return r.end_capture();
       }},
      {"an event from before the capture", cudaErrorStreamCaptureIsolation,
       [](Room& r) {
         cudaEventRecord(r.event.get(), r.other.get());
         r.capture();
         return cudaStreamWaitEvent(r.stream.get(), r.event.get());
       }},
      {"an event that was never recorded", cudaErrorStreamCaptureIsolation,
       [](Room& r) { return r.capture(), cudaStreamWaitEvent(r.stream.get(), r.event.get()); }},
      {"an event of the capture after it", cudaErrorStreamCaptureIsolation,
       [](Room& r) {
         r.capture(), r.fork(), r.join(), r.end_capture();
         return cudaStreamWaitEvent(r.other.get(), r.event.get());
       }},
      {"waiting on the host for an event of it", cudaErrorCapturedEvent,
       [](Room& r) {
         r.capture(), r.fork(), r.join(), r.end_capture();
         return cudaEventSynchronize(r.event.get());
       }},
      {"the end in another stream", cudaErrorStreamCaptureUnmatched,
       [](Room& r) {
         r.capture(), r.fork();
         cudaGraph_t graph = nullptr;
         const cudaError_t answer = cudaStreamEndCapture(r.other.get(), &graph);
         r.join(), r.end_capture();
         return answer;
       }},
      {"memory", cudaErrorStreamCaptureUnsupported,
       [](Room& r) {
         void* memory = nullptr;
         return r.capture(), cudaMalloc(&memory, bytes);
       }},
      {"waiting", cudaErrorStreamCaptureUnsupported,
       [](Room& r) { return r.capture(), cudaStreamSynchronize(r.far_stream.get()); }},
      {"a call that was refused spoils the graph", cudaErrorStreamCaptureInvalidated,
       [](Room& r) { return r.capture(), cudaDeviceSynchronize(), r.end_capture(); }},
  });
}

TEST_CASE("cuda on host: what streams, events and kernels refuse") {
  check({
      {"a kernel in a stream of another GPU", cudaErrorInvalidResourceHandle,
       [](Room& r) { return start(r.far_stream.get(), 1, 1, add_one, r.number()); }},
      {"a kernel with memory of another GPU", cudaErrorIllegalAddress,
       [](Room& r) {
         const OnDevice there(1);
         return start(r.far_stream.get(), 1, 1, add_one, r.number());
       }},
      {"a kernel with memory that CUDA does not know", cudaErrorIllegalAddress,
       [](Room& r) {
         int local = 0;
         return start(r.stream.get(), 1, 1, add_one, &local);
       }},
      {"pinned memory", cudaSuccess,
       [](Room& r) {
         return start(r.stream.get(), 1, 1, add_one, static_cast<int*>(r.pinned.get()));
       }},
      {"no blocks", cudaErrorInvalidConfiguration,
       [](Room& r) { return start(r.stream.get(), 0, 1, add_one, r.number()); }},
      {"too many threads", cudaErrorInvalidConfiguration,
       [](Room& r) { return start(r.stream.get(), 1, 1025, add_one, r.number()); }},
      {"not all threads reduce", cudaErrorLaunchFailure,
       [](Room& r) {
         start(r.stream.get(), 1, 64, sum_some_threads, r.number());
         return cudaStreamSynchronize(r.stream.get());
       }},
      {"an event on a stream of another GPU", cudaErrorInvalidResourceHandle,
       [](Room& r) { return cudaEventRecord(r.far_event.get(), r.stream.get()); }},
      {"waiting for an event of another GPU", cudaSuccess,
       [](Room& r) {
         cudaEventRecord(r.far_event.get(), r.far_stream.get());
         return cudaStreamWaitEvent(r.stream.get(), r.far_event.get());
       }},
      {"an event that was never recorded", cudaErrorInvalidValue,
       [](Room& r) { return cudaStreamWaitEvent(r.stream.get(), r.event.get()); }},
      {"a time that was not kept", cudaErrorInvalidResourceHandle,
       [](Room& r) {
         float ms = 0;
         for (const auto& event : {&r.untimed, &r.event})
           cudaEventRecord(event->get(), r.stream.get());
         cudaStreamSynchronize(r.stream.get());
         return cudaEventElapsedTime(&ms, r.untimed.get(), r.event.get());
       }},
      {"a time that has not come", cudaErrorNotReady,
       [](Room& r) {
         float ms = 0;
         cudaEventRecord(r.event.get(), r.stream.get());
         return cudaEventElapsedTime(&ms, r.event.get(), r.event.get());
       }},
      {"a stream that is gone", cudaErrorInvalidResourceHandle,
       [](Room& r) {
         const cudaStream_t stream = r.stream.get();
         r.stream = make_stream(0), cudaStreamDestroy(stream);
         return cudaStreamDestroy(stream);
       }},
  });
}

TEST_CASE("cuda on host: what copies and sorts refuse") {
  check({
      {"an overlap", cudaErrorInvalidValue,
       [](Room& r) {
         return cudaMemcpyAsync(r.number(), r.number() + 1, 8, cudaMemcpyDefault, r.stream.get());
       }},
      {"more than there is", cudaErrorInvalidValue,
       [](Room& r) {
         return cudaMemcpyAsync(r.memory.get(), r.far_memory.get(), bytes + 1, cudaMemcpyDefault,
                                r.stream.get());
       }},
      {"the wrong direction", cudaErrorInvalidMemcpyDirection,
       [](Room& r) {
         return cudaMemcpyAsync(r.memory.get(), r.pinned.get(), bytes, cudaMemcpyDeviceToDevice,
                                r.stream.get());
       }},
      {"a host that would have to wait", cudaErrorInvalidValue,
       [](Room& r) {
         int local = 0;
         return cudaMemcpyAsync(r.memory.get(), &local, 4, cudaMemcpyDefault, r.stream.get());
       }},
      {"too little room for a sort", cudaErrorInvalidValue,
       [](Room& r) {
         std::size_t room_B = 0;
         auto* at = static_cast<unsigned*>(r.memory.get());
         cub::DeviceRadixSort::SortPairs(nullptr, room_B, at, at + 2, at + 4, at + 6, 2);
         --room_B;
         return cub::DeviceRadixSort::SortPairs(at + 8, room_B, at, at + 2, at + 4, at + 6, 2, 0,
                                                32, r.stream.get());
       }},
  });
}

cudaError_t launch_gate(Room& room, int opened) {
  auto* flag = static_cast<int*>(room.pinned.get());
  *flag = opened;
  calibrate::cuda::launch_gate(flag, room.stream.get());
  return cudaSuccess;
}

// What may wait behind a gate: the host, a kernel's first launch, a graph that was not uploaded.
TEST_CASE("cuda on host: waiting for a gate that stays shut ends in a fault") {
  check({
      {"an open gate", cudaSuccess,
       [](Room& r) { return launch_gate(r, 1), cudaStreamSynchronize(r.stream.get()); }},
      {"a shut gate", cudaErrorLaunchTimeout,
       [](Room& r) { return launch_gate(r, 0), cudaStreamSynchronize(r.stream.get()); }},
      {"whatever follows a fault", cudaErrorLaunchTimeout,
       [](Room& r) {
         launch_gate(r, 0), cudaStreamSynchronize(r.stream.get());
         return start(r.other.get(), 1, 1, add_one, r.number());
       }},
      {"a first launch in any stream", cudaErrorLaunchTimeout,
       [](Room& r) { return launch_gate(r, 0), start(r.other.get(), 1, 1, add_one, r.number()); }},
      {"a second launch", cudaSuccess,
       [](Room& r) {
         start(r.other.get(), 1, 1, add_one, r.number());
         return launch_gate(r, 0), start(r.other.get(), 1, 1, add_one, r.number());
       }},
      {"a graph that was not uploaded", cudaErrorLaunchTimeout,
       [](Room& r) {
         r.capture(), r.end_capture();
         const GraphExec exec = r.instance();
         return launch_gate(r, 0), cudaGraphLaunch(exec.get(), r.other.get());
       }},
      {"one that was", cudaSuccess,
       [](Room& r) {
         r.capture(), r.end_capture();
         const GraphExec exec = r.instance();
         cudaGraphUpload(exec.get(), r.other.get()), cudaStreamSynchronize(r.other.get());
         return launch_gate(r, 0), cudaGraphLaunch(exec.get(), r.other.get());
       }},
  });
}

TEST_CASE("cuda on host: a host that does not wait may read what was there before, or not") {
  int too_early = 0;
  for (uint64_t order = 1; order <= 40; ++order) {
    const Room room;
    set_order(order);
    int value = 7;
    CHECK(cudaMemsetAsync(room.memory.get(), 0, bytes, room.stream.get()) == cudaSuccess);
    // The default stream does not wait for others.
    CHECK(cudaMemcpy(&value, room.memory.get(), 4, cudaMemcpyDeviceToHost) == cudaSuccess);
    CHECK((cudaStreamQuery(room.stream.get()) == cudaErrorNotReady) == (value != 0));
    CHECK(cudaStreamQuery(room.stream.get()) == cudaSuccess);
    too_early += value == 0 ? 0 : 1;
  }
  CHECK((too_early >= 5 && too_early <= 35));  // see below
}

TEST_CASE("cuda on host: what a graph leaves open happens in either order") {
  Room room;
  for (const bool is_ordered : {false, true}) {
    room.capture(), room.fork();
    start(room.stream.get(), 1, 1, set_to, room.number(), 1);
    if (is_ordered) room.fork();
    start(room.other.get(), 1, 1, set_to, room.number(), 2);
    room.join(), room.end_capture();
    const GraphExec exec = room.instance();
    int ones = 0;
    for (int run = 0; run < 40; ++run) {
      int value = 0;
      cudaGraphLaunch(exec.get(), room.far_stream.get());
      cudaStreamSynchronize(room.far_stream.get());
      cudaMemcpy(&value, room.memory.get(), 4, cudaMemcpyDeviceToHost);
      ones += value == 1 ? 1 : 0;
    }
    // Of 40 fair coins fewer than 5 or more than 35 show heads once in 6 million tries.
    CHECK((is_ordered ? ones == 0 : ones >= 5 && ones <= 35));
  }
}

TEST_CASE("cuda on host: reductions, sorts and halves are exact") {
  const Room room;
  int sum = 0;
  start(room.stream.get(), 1, 64, sum_threads, room.number());
  cudaStreamSynchronize(room.stream.get());
  cudaMemcpy(&sum, room.memory.get(), 4, cudaMemcpyDeviceToHost);
  CHECK(sum == 64 * 63 / 2);

  // Sorted by bits 4 to 7 alone, stably: 1x before 2x, in the order in which they came.
  const std::vector<uint8_t> keys = {0x21, 0x12, 0x20, 0x11};
  std::vector<uint8_t> sorted(8);
  std::size_t room_B = 0;
  const auto* at = static_cast<uint8_t*>(room.memory.get());
  cudaMemcpy(room.memory.get(), keys.data(), 4, cudaMemcpyHostToDevice);
  cudaDeviceSynchronize();
  auto* to = static_cast<uint8_t*>(room.memory.get()) + 4;
  cub::DeviceRadixSort::SortPairs(nullptr, room_B, at, to, at, to + 4, 4);
  const Memory needed = make_memory(0, room_B);
  for (const bool is_down : {false, true}) {
    const auto sort = is_down ? cub::DeviceRadixSort::SortPairsDescending<uint8_t, uint8_t, int>
                              : cub::DeviceRadixSort::SortPairs<uint8_t, uint8_t, int>;
    CHECK(sort(needed.get(), room_B, at, to, at, to + 4, 4, 4, 8, room.stream.get()) ==
          cudaSuccess);
    cudaDeviceSynchronize();
    cudaMemcpy(sorted.data(), to, 8, cudaMemcpyDeviceToHost);
    const std::vector<uint8_t> up = {0x12, 0x11, 0x21, 0x20, 0x12, 0x11, 0x21, 0x20};
    const std::vector<uint8_t> down = {0x21, 0x20, 0x12, 0x11, 0x21, 0x20, 0x12, 0x11};
    CHECK(sorted == (is_down ? down : up));
  }

  CHECK(__half_as_ushort(__float2half_rn(2049)) == 0x6800);         // 2048: halfway, to even
  CHECK(__bfloat16_as_ushort(__float2bfloat16_rn(257)) == 0x4380);  // 256
  CHECK(__float_as_uint(1.F) == 0x3f800000);
}

TEST_CASE("cuda on host: what is not freed is counted") {
  restart(1);
  {
    const Memory memory = make_memory(0, bytes);
    const Stream stream = make_stream(0);
    CHECK(alive() == 2);
  }
  CHECK(alive() == 0);
}

}  // namespace
}  // namespace sgdsim::cuda_on_host
