// The functions of the interface, and what each of them refuses.
#include <cstring>

#include "tests/cuda_on_host/machine.h"

using namespace sgdsim::cuda_on_host;

namespace {

constexpr int most_looks_at_clock = 100'000;
constexpr int most_looks_meanwhile = 10;

// A kernel that runs for the first time is loaded, for which the driver may wait for the GPU.
void load(int device, const void* kernel) {
  const bool is_new = machine.kernels.insert({device, kernel}).second;
  if (is_new && !machine.capture) finish_all();
}

}  // namespace

cudaError_t sgdsim::cuda_on_host::issue(cudaStream_t handle, const void* kernel,
                                        const std::vector<const volatile void*>& pointers,
                                        std::function<void()> work) {
  return answer([&] {
    const cudaStream_t stream = stream_of(handle);
    demand(stream->device == machine.device, cudaErrorInvalidResourceHandle);
    for (const volatile void* pointer : pointers) demand_reachable(pointer, stream->device);
    load(stream->device, kernel);
    queue(stream, std::move(work));
    if (!stream->capture) launch(stream->last);
    if (machine.launches_block && !stream->capture) finish(stream->last);
  });
}

// Blocks forwards or backwards; threads of a block from the last to the first.
cudaError_t sgdsim::cuda_on_host::issue_grid(const cudaLaunchConfig_t& config, const void* kernel,
                                             const std::vector<const volatile void*>& pointers,
                                             std::function<void()> thread) {
  const dim3 grid = config.gridDim;
  const dim3 block = config.blockDim;
  const bool is_line = grid.y == 1 && grid.z == 1 && block.y == 1 && block.z == 1;
  const bool is_plain = is_line && config.dynamicSmemBytes == 0 && config.numAttrs == 0;
  const bool is_valid = grid.x > 0 && grid.x <= 0x7fffffff && block.x > 0 && block.x <= 1024;
  if (!is_plain || !is_valid)
    return answer(
        [&] { throw Fault{is_valid ? cudaErrorNotSupported : cudaErrorInvalidConfiguration}; });
  return issue(config.stream, kernel, pointers, [grid, block, thread = std::move(thread)] {
    const bool is_backwards = machine.random.below(2) == 1;
    gridDim = grid;
    blockDim = block;
    for (unsigned i = 0; i < grid.x; ++i) {
      blockIdx.x = is_backwards ? grid.x - 1 - i : i;
      for (threadIdx.x = block.x; threadIdx.x-- > 0;) thread();
    }
  });
}

// A look takes a microsecond; where the host waits for what it launched, so much that whoever waits
// for the host gives up first.
uint64_t stand_in_ns() {
  const int most = machine.is_meanwhile ? most_looks_meanwhile : most_looks_at_clock;
  if (++machine.looks_at_clock > most) {
    if (machine.is_meanwhile) throw StillWaits{};
    throw Fault{cudaErrorLaunchTimeout};
  }
  const bool host_waits = machine.launches_block || machine.is_queue_full;
  pass(host_waits ? 100'000 : 1000);
  return static_cast<uint64_t>(machine.ns);
}

uint64_t stand_in_cycles() { return static_cast<uint64_t>(machine.cycles); }

// ---- errors and devices

const char* cudaGetErrorString(cudaError_t error) {
#define SGDSIM_NAME(name) #name,
  static const char* const names[] = {SGDSIM_CUDA_ERRORS(SGDSIM_NAME)};
#undef SGDSIM_NAME
  return names[error];
}

cudaError_t cudaGetLastError() { return std::exchange(machine.last_error, cudaSuccess); }
cudaError_t cudaPeekAtLastError() { return machine.last_error; }

cudaError_t cudaDriverGetVersion(int* version) {
  return answer([&] { *version = 13010; });
}
cudaError_t cudaRuntimeGetVersion(int* version) {
  return answer([&] { *version = 13000; });
}

cudaError_t cudaGetDeviceCount(int* count) {
  *count = machine.devices;
  return answer([&] { demand(machine.devices > 0, cudaErrorNoDevice); });
}

cudaError_t cudaGetDevice(int* device) {
  return answer([&] { *device = machine.device; });
}

cudaError_t cudaSetDevice(int device) {
  return answer([&] {
    demand_device(device);
    machine.device = device;
  });
}

cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device) {
  return answer([&] {
    demand_device(device);
    std::strcpy(properties->name, "CUDA on the host");
  });
}

cudaError_t cudaDeviceGetPCIBusId(char* name, int length, int device) {
  return answer([&] {
    demand_device(device);
    const std::string bus = "0000:" + std::to_string(10 + device) + ":00.0";
    demand(static_cast<std::size_t>(length) > bus.size(), cudaErrorInvalidValue);
    std::strcpy(name, bus.c_str());
  });
}

cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr which, int device) {
  return answer([&] {
    demand_device(device);
    *value = which == cudaDevAttrL2CacheSize           ? 4096
             : which == cudaDevAttrMultiProcessorCount ? 3
                                                       : 1'000'000;
  });
}

cudaError_t cudaDeviceCanAccessPeer(int* can, int device, int peer) {
  return answer([&] {
    demand_device(device);
    demand_device(peer);
    *can = machine.are_peers && device != peer ? 1 : 0;
  });
}

cudaError_t cudaDeviceEnablePeerAccess(int peer, unsigned flags) {
  return answer([&] {
    demand_device(peer);
    demand(flags == 0 && peer != machine.device, cudaErrorInvalidValue);
    demand(machine.are_peers, cudaErrorPeerAccessUnsupported);
    demand(machine.peers.insert({machine.device, peer}).second, cudaErrorPeerAccessAlreadyEnabled);
  });
}

cudaError_t cudaDeviceSynchronize() {
  return answer([] {
    demand_no_capture();
    finish(stream_of(nullptr)->last);
    for (const cudaStream_t stream : machine.streams)
      if (stream->device == machine.device) finish(stream->last);
  });
}

// ---- memory

cudaError_t cudaMemGetInfo(std::size_t* free_bytes, std::size_t* all_bytes) {
  return answer([&] {
    *free_bytes = *all_bytes = memory_B;
    for (const auto& [at, piece] : machine.memory)
      if (piece.device == machine.device) *free_bytes -= piece.bytes;
  });
}

cudaError_t cudaMalloc(void** memory, std::size_t bytes) {
  return answer([&] {
    if (machine.allocation_waits) finish_all();
    *memory = new_memory(bytes, machine.device);
  });
}

cudaError_t cudaFree(void* memory) {
  return answer_always([&] { free_memory(memory, false); });
}

cudaError_t cudaHostAlloc(void** memory, std::size_t bytes, unsigned flags) {
  return answer([&] {
    demand(flags <= (cudaHostAllocPortable | cudaHostAllocMapped), cudaErrorInvalidValue);
    if (machine.allocation_waits) finish_all();
    *memory = new_memory(bytes, on_host);
  });
}

cudaError_t cudaFreeHost(void* memory) {
  return answer_always([&] { free_memory(memory, true); });
}

// By way of the default stream, which other streams know nothing of. Only a copy to the host is
// waited for; one from memory that the GPU cannot read is taken aside first.
cudaError_t cudaMemcpy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind) {
  return answer([&] {
    demand_no_capture();
    if (bytes == 0) return;
    demand_copy(to, from, bytes, kind);
    const cudaStream_t stream = stream_of(nullptr);
    const Memory* target = memory_at(to);
    if (memory_at(from) == nullptr) {
      const auto* start = static_cast<const std::byte*>(from);
      queue(stream, [to, taken = std::vector<std::byte>(start, start + bytes)] {
        std::copy(taken.begin(), taken.end(), static_cast<std::byte*>(to));
      });
    } else {
      queue(stream, [=] { std::memcpy(to, from, bytes); });
    }
    if (target == nullptr || target->device == on_host) finish(stream->last);
  });
}

// Only between memory that CUDA has given out: other memory makes the host wait.
cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind,
                            cudaStream_t stream) {
  return answer([&] {
    demand(memory_at(to) != nullptr && memory_at(from) != nullptr, cudaErrorInvalidValue);
    demand_copy(to, from, bytes, kind);
    queue(stream_of(stream), [=] { std::memcpy(to, from, bytes); });
  });
}

cudaError_t cudaMemset(void* to, int value, std::size_t bytes) {
  return answer([&] {
    demand_no_capture();
    demand_inside(to, bytes);
    demand_reachable(to, machine.device);
    queue(stream_of(nullptr), [=] { std::memset(to, value, bytes); });
  });
}

cudaError_t cudaMemsetAsync(void* to, int value, std::size_t bytes, cudaStream_t stream) {
  const auto inside = answer([&] { demand_inside(to, bytes); });
  if (inside != cudaSuccess) return inside;
  return issue(stream, nullptr, {to}, [=] { std::memset(to, value, bytes); });
}

// ---- streams and events

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned flags) {
  return answer([&] {
    demand(flags == cudaStreamNonBlocking, cudaErrorNotSupported);
    *stream = new CUstream_st{.device = machine.device, .lane = machine.lanes++};
    keep(*stream);
    machine.streams.insert(*stream);
  });
}

// Ends the capture that the stream takes part in.
cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  return answer_always([&] {
    demand_alive(stream);
    if (const std::shared_ptr<Capture> capture = stream->capture) end_capture(*capture);
    machine.streams.erase(stream);
    destroy(stream);
  });
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  return answer([&] {
    demand_no_capture();
    finish(stream_of(stream)->last);
  });
}

namespace {
// Asking passes the time in which a piece of work is done.
void demand_done(const WorkPointer& work) {
  demand_no_capture();
  if (!work || work->is_done) return finish(work);
  if (!machine.ready.empty()) static_cast<void>(play_one());
  throw Fault{cudaErrorNotReady};
}
}  // namespace

cudaError_t cudaStreamQuery(cudaStream_t stream) {
  return answer([&] { demand_done(stream_of(stream)->last); });
}

// An event of a capture brings the stream into it. Waiting for an event that was never recorded
// does nothing on a GPU, and is a mistake here.
cudaError_t cudaStreamWaitEvent(cudaStream_t handle, cudaEvent_t event, unsigned flags) {
  return answer([&] {
    const cudaStream_t stream = stream_of(handle);
    demand_alive(event);
    demand(flags == 0, cudaErrorInvalidValue);
    if (!event->capture) {
      demand(!stream->capture, cudaErrorStreamCaptureIsolation);
      demand(event->recorded != nullptr, cudaErrorInvalidValue);
      return queue(stream, nullptr, event->recorded);
    }
    demand(event->capture->is_active && handle != nullptr, cudaErrorStreamCaptureIsolation);
    demand(!stream->capture || stream->capture == event->capture, cudaErrorStreamCaptureMerge);
    if (!stream->capture) {
      stream->capture = event->capture;
      stream->capture->streams.push_back(stream);
      stream->tip = event->tip;
    }
    queue(stream, nullptr);
    stream->capture->nodes.back().after.push_back(event->tip);
  });
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned flags) {
  return answer([&] {
    demand(flags == cudaEventDefault || flags == cudaEventDisableTiming, cudaErrorInvalidValue);
    *event = new CUevent_st{.device = machine.device, .has_time = flags == cudaEventDefault};
    keep(*event);
  });
}

cudaError_t cudaEventDestroy(cudaEvent_t event) {
  return answer_always([&] { destroy(event); });
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t handle) {
  return answer([&] {
    const cudaStream_t stream = stream_of(handle);
    demand_alive(event);
    demand(event->device == stream->device, cudaErrorInvalidResourceHandle);
    event->capture = stream->capture;
    event->tip = stream->tip;
    if (stream->capture) return;
    queue(stream, [time = event->time] { *time = machine.time; });
    event->recorded = stream->last;
  });
}

// Within a capture: a node that records for whoever launches the graph, as often as it is launched.
cudaError_t cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t handle, unsigned flags) {
  return answer([&] {
    const cudaStream_t stream = stream_of(handle);
    demand_alive(event);
    demand(event->device == stream->device, cudaErrorInvalidResourceHandle);
    demand(flags == cudaEventRecordExternal && stream->capture, cudaErrorInvalidValue);
    queue(stream, [time = event->time] { *time = machine.time; });
    stream->capture->nodes.back().records = event;
    event->capture = nullptr;
  });
}

cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  return answer([&] {
    demand_no_capture();
    demand_alive(event);
    demand(!event->capture, cudaErrorCapturedEvent);
    finish(event->recorded);
  });
}

cudaError_t cudaEventQuery(cudaEvent_t event) {
  return answer([&] {
    demand_alive(event);
    demand(!event->capture, cudaErrorCapturedEvent);
    demand_done(event->recorded);
  });
}

// A microsecond for every piece of work that was played in between.
cudaError_t cudaEventElapsedTime(float* ms, cudaEvent_t start, cudaEvent_t stop) {
  return answer([&] {
    for (const cudaEvent_t event : {start, stop}) {
      demand_alive(event);
      demand(event->has_time && event->recorded && !event->capture, cudaErrorInvalidResourceHandle);
      demand(event->recorded->is_done, cudaErrorNotReady);
    }
    demand(start->device == stop->device, cudaErrorInvalidResourceHandle);
    *ms = 1e-3F * static_cast<float>(*stop->time - *start->time);
  });
}
