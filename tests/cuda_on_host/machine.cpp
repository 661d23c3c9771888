// The order of work, and whose memory is whose.
#include "tests/cuda_on_host/machine.h"

#include <cstdlib>
#include <cstring>

namespace sgdsim::cuda_on_host {

Machine machine;

void demand(bool is_so, cudaError_t error) {
  if (!is_so) throw Fault{error};
}

void demand_device(int device) {
  demand(device >= 0 && device < machine.devices, cudaErrorInvalidDevice);
}

void demand_alive(const void* handle) {
  demand(machine.handles.contains(handle), cudaErrorInvalidResourceHandle);
}

void demand_no_capture() {
  if (!machine.capture) return;
  machine.capture->is_valid = false;
  throw Fault{cudaErrorStreamCaptureUnsupported};
}

void restart(int devices, bool are_peers) {
  for (const auto& [at, memory] : machine.memory) std::free(reinterpret_cast<void*>(at));
  for (const auto& [handle, remove] : machine.handles) remove();
  machine = {};
  machine.devices = devices;
  machine.are_peers = are_peers;
  for (int device = 0; device < devices; ++device)
    machine.default_streams.push_back({.device = device, .lane = machine.lanes++});
}

void set_order(uint64_t seed) {
  machine.random = Random(seed);
  machine.priorities.clear();
}

int calls() { return machine.calls; }
void fail_call(int number, cudaError_t error, bool is_sticky) {
  machine.fails_at = number;
  machine.fails_with = error;
  machine.fails_for_ever = is_sticky;
}
void at_call(int number, std::function<void()> what) {
  machine.interrupted_at = number;
  machine.interruption = std::move(what);
}
void set_clock(std::function<double(double us)> MHz) { machine.clock_MHz = std::move(MHz); }
void block_launches() { machine.launches_block = true; }
void let_allocation_wait() { machine.allocation_waits = true; }
void work_meanwhile(int most) { machine.most_meanwhile = most; }
void set_queue_depth(std::size_t launches) { machine.queue_depth = launches; }
void hang_after(int works) { machine.hangs_after = works; }
int works() { return machine.works; }
bool has_hung() { return machine.has_hung; }

int alive() { return static_cast<int>(machine.handles.size() + machine.memory.size()); }

// ---- the order of work

namespace {

uint64_t priority(int lane) {
  const auto known = machine.priorities.find(lane);
  if (known != machine.priorities.end()) return known->second;
  return machine.priorities[lane] = machine.random.bits();
}

WorkPointer take_ready() {
  const auto best = std::max_element(
      machine.ready.begin(), machine.ready.end(),
      [](const auto& a, const auto& b) { return priority(a->lane) < priority(b->lane); });
  const WorkPointer work = *best;
  machine.ready.erase(best);
  if (machine.random.below(16) == 0) machine.priorities.erase(work->lane);
  return work;
}

}  // namespace

WorkPointer add_work(Play play, int lane, const std::vector<WorkPointer>& after) {
  const auto work = std::make_shared<Work>();
  work->play = std::move(play);
  work->lane = lane;
  for (const WorkPointer& other : after)
    if (other && !other->is_done) {
      other->waiting.push_back(work);
      ++work->missing;
    }
  if (work->missing == 0) machine.ready.push_back(work);
  return work;
}

void pass(int64_t ns) {
  machine.cycles +=
      machine.clock_MHz(1e-3 * static_cast<double>(machine.ns)) * 1e-3 * static_cast<double>(ns);
  machine.ns += ns;
}

// After a fault nothing is played any more, but everything ends.
bool play_one() {
  if (machine.works >= machine.hangs_after) return false;
  ++machine.works;
  const WorkPointer work = take_ready();
  ++machine.time;
  pass(1000);
  machine.looks_at_clock = 0;
  try {
    if (machine.fault == cudaSuccess && work->play) work->play();
  } catch (const StillWaits&) {
    machine.ready.push_back(work);
    return true;
  } catch (const Fault& fault) {
    machine.fault = fault.error;
  }
  work->is_done = true;
  for (const WorkPointer& other : std::exchange(work->waiting, {}))
    if (--other->missing == 0) machine.ready.push_back(other);
  return true;
}

void play_meanwhile() {
  if (machine.most_meanwhile == 0) return;
  machine.is_meanwhile = true;
  for (auto left = machine.random.below(static_cast<uint64_t>(machine.most_meanwhile) + 1);
       left > 0 && !machine.ready.empty(); --left)
    static_cast<void>(play_one());
  machine.is_meanwhile = false;
}

void play_while(const std::function<bool()>& is_wanted) {
  while (is_wanted())
    if (!play_one()) {
      machine.has_hung = true;
      throw Fault{cudaErrorLaunchTimeout};
    }
}

void finish(const WorkPointer& work) {
  play_while([&] { return work && !work->is_done; });
  demand(machine.fault == cudaSuccess, machine.fault);
}

void finish_all() {
  play_while([] { return !machine.ready.empty(); });
  demand(machine.fault == cudaSuccess, machine.fault);
}

// ---- streams

cudaStream_t stream_of(cudaStream_t stream) {
  if (stream == nullptr) return &machine.default_streams[static_cast<std::size_t>(machine.device)];
  demand_alive(stream);
  return stream;
}

void queue(cudaStream_t stream, Play play, const WorkPointer& also_after) {
  demand(machine.fault == cudaSuccess, machine.fault);
  if (stream->capture) {
    stream->capture->nodes.push_back({std::move(play), stream->lane, {stream->tip}, nullptr});
    stream->tip = stream->capture->nodes.size() - 1;
  } else {
    stream->last = add_work(std::move(play), stream->lane, {stream->last, also_after});
  }
}

void launch(const WorkPointer& work) {
  if (machine.queue_depth == std::numeric_limits<std::size_t>::max()) return;
  const auto is_full = [] {
    std::erase_if(machine.launched, [](const WorkPointer& one) { return one->is_done; });
    return machine.launched.size() >= machine.queue_depth;
  };
  machine.is_queue_full = true;
  play_while(is_full);
  machine.is_queue_full = false;
  machine.launched.push_back(work);
}

void end_capture(Capture& capture) {
  machine.capture = nullptr;
  capture.is_active = false;
  for (const cudaStream_t stream : std::exchange(capture.streams, {})) stream->capture = nullptr;
}

// ---- memory

namespace {

// The piece of memory that the address is in, or the end.
auto piece_at(const volatile void* at) {
  const auto address = reinterpret_cast<uintptr_t>(at);
  const auto next = machine.memory.upper_bound(address);
  if (next == machine.memory.begin()) return machine.memory.end();
  const auto piece = std::prev(next);
  return address < piece->first + piece->second.bytes ? piece : machine.memory.end();
}

bool is_on_device(const void* at) {
  const Memory* memory = memory_at(at);
  return memory != nullptr && memory->device != on_host;
}

}  // namespace

// New memory holds garbage, and is as large as was asked for: a sanitizer sees the byte behind it.
void* new_memory(std::size_t bytes, int device) {
  demand_no_capture();
  demand(bytes > 0, cudaErrorInvalidValue);
  void* memory = nullptr;
  demand(posix_memalign(&memory, 256, bytes) == 0, cudaErrorMemoryAllocation);
  std::memset(memory, 0xa5, bytes);
  machine.memory[reinterpret_cast<uintptr_t>(memory)] = {bytes, device};
  return memory;
}

void free_memory(void* memory, bool is_on_host) {
  if (memory == nullptr) return;
  demand_no_capture();
  const auto found = machine.memory.find(reinterpret_cast<uintptr_t>(memory));
  demand(found != machine.memory.end(), cudaErrorInvalidValue);
  demand((found->second.device == on_host) == is_on_host, cudaErrorInvalidValue);
  play_while([] { return !machine.ready.empty(); });  // it waits for the GPUs
  machine.memory.erase(found);
  std::free(memory);
}

const Memory* memory_at(const volatile void* at) {
  const auto piece = piece_at(at);
  return piece == machine.memory.end() ? nullptr : &piece->second;
}

void demand_reachable(const volatile void* at, int device) {
  if (at == nullptr) return;
  const Memory* memory = memory_at(at);
  demand(memory != nullptr, cudaErrorIllegalAddress);
  const bool is_near = memory->device == on_host || memory->device == device;
  demand(is_near || machine.peers.contains({device, memory->device}), cudaErrorIllegalAddress);
}

// Memory of the host that CUDA has not given out may be of any size.
void demand_inside(const volatile void* at, std::size_t bytes) {
  const auto piece = piece_at(at);
  if (piece == machine.memory.end()) return;
  demand(reinterpret_cast<uintptr_t>(at) + bytes <= piece->first + piece->second.bytes,
         cudaErrorInvalidValue);
}

void demand_copy(const void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind) {
  const bool says_to = kind == cudaMemcpyHostToDevice || kind == cudaMemcpyDeviceToDevice;
  const bool says_from = kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyDeviceToDevice;
  demand(
      kind == cudaMemcpyDefault || (says_to == is_on_device(to) && says_from == is_on_device(from)),
      cudaErrorInvalidMemcpyDirection);
  demand_inside(to, bytes);
  demand_inside(from, bytes);
  const auto a = reinterpret_cast<uintptr_t>(to);
  const auto b = reinterpret_cast<uintptr_t>(from);
  demand(a + bytes <= b || b + bytes <= a, cudaErrorInvalidValue);  // an overlap is undefined
}

}  // namespace sgdsim::cuda_on_host
