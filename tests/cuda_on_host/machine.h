// The inside of the stand-in: everything queued is a piece of work that knows who waits for it, and
// the host, where it waits, plays what is ready, one piece at a time.
//
// Every stream has a priority drawn by lot, drawn anew at every launch of a graph and now and then
// in between; the ready work of the highest goes first. So one stream runs as far ahead of another
// as it may, which finds a missing dependency sooner than drawing each piece evenly does
// (Burckhardt et al., "A randomized scheduler with probabilistic guarantees of finding bugs",
// ASPLOS 2010).
#pragma once

#include <limits>
#include <map>
#include <memory>
#include <set>
#include <utility>

#include "sim/core/random.h"
#include "tests/cuda_on_host/cuda_runtime.h"

namespace sgdsim::cuda_on_host {

using Play = std::function<void()>;

struct Work {
  Play play;
  int lane = 0;
  int missing = 0;  // how much must be done before it
  std::vector<std::shared_ptr<Work>> waiting;
  bool is_done = false;
};
using WorkPointer = std::shared_ptr<Work>;

// Of a graph, in an order in which they can be played.
struct Node {
  Play play;
  int lane = 0;
  std::vector<std::size_t> after;
  cudaEvent_t records = nullptr;  // of whoever launches the graph
};

struct Capture {
  std::vector<Node> nodes;
  cudaStream_t origin = nullptr;
  std::vector<cudaStream_t> streams;
  bool is_active = true;
  bool is_valid = true;
};

constexpr int on_host = -1;

struct Memory {
  std::size_t bytes = 0;
  int device = on_host;
};

}  // namespace sgdsim::cuda_on_host

struct CUstream_st {
  int device = 0;
  int lane = 0;
  sgdsim::cuda_on_host::WorkPointer last = nullptr;
  std::shared_ptr<sgdsim::cuda_on_host::Capture> capture = nullptr;
  std::size_t tip = 0;  // its last node in the capture
};

struct CUevent_st {
  int device = 0;
  bool has_time = true;
  sgdsim::cuda_on_host::WorkPointer recorded = nullptr;
  // Where it was recorded, if that was in a capture.
  std::shared_ptr<sgdsim::cuda_on_host::Capture> capture = nullptr;
  std::size_t tip = 0;
  std::shared_ptr<int64_t> time = std::make_shared<int64_t>(0);
};

struct CUgraph_st {
  std::vector<sgdsim::cuda_on_host::Node> nodes;
};

struct CUgraphExec_st {
  std::vector<sgdsim::cuda_on_host::Node> nodes;
  std::shared_ptr<bool> is_uploaded = std::make_shared<bool>(false);
  sgdsim::cuda_on_host::WorkPointer last = nullptr;
};

namespace sgdsim::cuda_on_host {

// What a process and its driver know. The interface is one of global state, so this is too.
struct Machine {
  int devices = 1;
  bool are_peers = true;
  int device = 0;
  cudaError_t last_error = cudaSuccess;
  cudaError_t fault = cudaSuccess;
  std::set<std::pair<int, int>> peers;
  std::map<uintptr_t, Memory> memory;
  std::map<const void*, std::function<void()>> handles;  // and how they are deleted
  std::set<cudaStream_t> streams;
  std::set<std::pair<int, const void*>> kernels;  // loaded by a device
  std::vector<CUstream_st> default_streams;
  std::vector<WorkPointer> ready;
  std::shared_ptr<Capture> capture;  // the one that is active
  Random random{1};
  std::map<int, uint64_t> priorities;  // by lane
  int lanes = 0;
  int64_t time = 0;
  int looks_at_clock = 0;
  int64_t ns = 0;  // of the timer of all GPUs, which looks at it let pass, too
  double cycles = 0;
  std::function<double(double us)> clock_MHz = [](double) { return 1000.; };
  // What a test asked for.
  int calls = 0;
  int fails_at = 0;
  int interrupted_at = 0;
  std::function<void()> interruption;
  cudaError_t fails_with = cudaSuccess;
  bool fails_for_ever = false;
  bool launches_block = false;
  bool allocation_waits = false;
  int most_meanwhile = 0;  // pieces of work that are played between two calls
  bool is_meanwhile = false;
  std::size_t queue_depth = std::numeric_limits<std::size_t>::max();
  std::vector<WorkPointer> launched;  // what the queue holds
  bool is_queue_full = false;         // and the host waits for it
  int works = 0;
  int hangs_after = std::numeric_limits<int>::max();
  bool has_hung = false;
};
extern Machine machine;

void demand(bool is_so, cudaError_t error);
void demand_device(int device);
void demand_alive(const void* handle);
// What waits for a GPU, or may, is forbidden while the host captures, and spoils the capture.
void demand_no_capture();

WorkPointer add_work(Play play, int lane, const std::vector<WorkPointer>& after);
// Lets time pass.
void pass(int64_t ns);
// False if a GPU hangs.
bool play_one();
// Some of what is ready, as while the host goes on; a kernel that waits for the host goes on
// waiting.
void play_meanwhile();
// What a kernel throws that does.
struct StillWaits {};
void play_while(const std::function<bool()>& is_wanted);
void finish(const WorkPointer& work);
void finish_all();

void* new_memory(std::size_t bytes, int device);
void free_memory(void* memory, bool is_on_host);
const Memory* memory_at(const volatile void* at);
// Whether a kernel on the device can follow the pointer.
void demand_reachable(const volatile void* at, int device);
void demand_inside(const volatile void* at, std::size_t bytes);
void demand_copy(const void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind);

template <class Handle>
void keep(Handle handle) {
  machine.handles[handle] = [handle] { delete handle; };
}

cudaStream_t stream_of(cudaStream_t stream);
void queue(cudaStream_t stream, Play play, const WorkPointer& also_after = nullptr);
void end_capture(Capture& capture);
// Takes launched work to the queue; where it is full, the host waits, and nobody opens a gate.
void launch(const WorkPointer& work);

template <class Handle>
void destroy(Handle handle) {
  demand_alive(handle);
  machine.handles.erase(handle);
  delete handle;
}

// The body of a function that destroys something.
template <class Body>
cudaError_t answer_always(const Body& body) {
  try {
    body();
    return cudaSuccess;
  } catch (const Fault& fault) {
    return machine.last_error = fault.error;
  }
}

// The body of every other function of the interface.
template <class Body>
cudaError_t answer(const Body& body) {
  const int number = ++machine.calls;
  play_meanwhile();
  if (number == machine.interrupted_at) machine.interruption();
  const bool fails =
      machine.fails_at > 0 &&
      (number == machine.fails_at || (number > machine.fails_at && machine.fails_for_ever));
  if (fails) return machine.last_error = machine.fails_with;
  return answer_always(body);
}

}  // namespace sgdsim::cuda_on_host
