// What a file of PyTorch's profiler (Kineto) says of training steps, as compact records.
//
// One pass over the file keeps 16 to 32 bytes of each event that matters: calls that launch work on
// a device, that work, operators of the backward pass, calls of collectives, windows of steps. All
// others are counted at most. Events stand in no particular order and refer to each other, so that
// nothing can be concluded before the end of the file; steps.h does that.
//
// Times are whole nanoseconds of the file's clock: 64 bits hold neither picoseconds since 1970, nor
// does a double hold nanoseconds.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "traces/byte_source.h"
#include "traces/kineto/name_pattern.h"

namespace sgdsim::profiler {

// What the arguments of an event say of a collective.
struct CommunicationFacts {
  std::string collective;  // "allreduce"; empty: not said
  std::string type;        // of elements: "Float"
  std::string group;       // name and ranks of the process group
  int64_t elements = -1;   // that go in; -1: not said
  int64_t elements_out = -1;
  int64_t group_size = 0;  // 0: not said

  bool is_complete() const { return elements >= 0 && !type.empty() && !collective.empty(); }
};

// Bytes of an element of this type of PyTorch; 0: unknown.
int64_t bytes_of_type(const std::string& type);

struct LaunchCall {  // of a kernel, a copy or a memset, on the CPU
  int64_t at_ns = 0;
  uint32_t correlation = 0;
  int16_t thread = 0;
  bool is_kernel = false;  // copies and memsets of nothing leave no work
};
static_assert(sizeof(LaunchCall) == 16);

inline constexpr int32_t no_message = -1;

struct DeviceWork {  // a kernel, a copy or a memset
  int64_t start_ns = 0;
  int64_t end_ns = 0;
  uint32_t correlation = 0;
  int32_t stream = 0;
  int32_t message = no_message;  // else one of the messages
};
static_assert(sizeof(DeviceWork) == 32);

struct DeviceMessage {  // of a kernel that communicates
  std::string kernel;
  int64_t external_id = -1;
  CommunicationFacts facts;
};

struct CollectiveCall {  // record_param_comms, on the CPU
  int64_t start_ns = 0;
  int64_t end_ns = 0;
  int64_t external_id = -1;
  int16_t thread = 0;
  CommunicationFacts facts;
};

enum class BackwardKind : uint8_t {
  other,
  gradient,       // autograd::engine::evaluate_function: torch::autograd::AccumulateGrad
  inner_gradient  // torch::autograd::AccumulateGrad, within one of those
};

struct BackwardOperator {
  int64_t at_ns = 0;
  int16_t thread = 0;
  BackwardKind kind = BackwardKind::other;
};

struct StepWindow {  // ProfilerStep#N
  int64_t start_ns = 0;
  int64_t end_ns = 0;
  int64_t number = 0;
};

// Job and machine, as far as the file says.
struct JobFacts {
  std::string backend;
  std::string nccl_version;
  std::string device;
  std::optional<int64_t> rank;
  std::optional<int64_t> ranks;
};

// Events that could not be used, counted by reason.
using Oddities = std::map<std::string, int64_t>;

struct ProfileRecords {
  std::string file;
  JobFacts job;
  int64_t events = 0;
  std::vector<StepWindow> windows;
  std::vector<LaunchCall> launches;
  std::vector<DeviceWork> work;
  std::vector<DeviceMessage> messages;
  std::vector<CollectiveCall> calls;
  std::vector<BackwardOperator> operators;
  std::vector<std::string> streams;  // for people: "device 0, stream 7"
  Oddities oddities;
  bool is_cut_off = false;
};

// `others` names kernels that communicate besides those of NCCL and RCCL.
ProfileRecords read_events(ByteSource& source, const NamePattern* others);

}  // namespace sgdsim::profiler
