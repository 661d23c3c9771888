// What a file of PyTorch's profiler (Kineto) says of training steps, as compact records.
//
// One pass over the file keeps 16 to 32 bytes of each event that matters: calls that launch work on
// a device, that work, operators of the backward pass, calls of collectives, windows of steps and
// what else tells steps apart. Where no device works, the operators of the CPU are the work, and
// those that follow each other without a gap are kept as one. All others are counted at most.
// Events stand in no particular order and refer to each other, so that nothing can be concluded
// before the end of the file; steps.h does that.
//
// Times are whole nanoseconds of the file's clock: 64 bits hold neither picoseconds since 1970, nor
// does a double hold nanoseconds.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "sim/core/byte_source.h"
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

// Bytes of an element of this type, as PyTorch or C++ call it; 0: unknown.
int64_t bytes_of_type(const std::string& type);

struct Span {
  int64_t start_ns = 0;
  int64_t end_ns = 0;

  bool operator==(const Span&) const = default;
};

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
  bool is_copy = false;          // or a memset
};
static_assert(sizeof(DeviceWork) == 32);

struct DeviceMessage {  // of a kernel that communicates, or of an operator of gloo
  std::string kernel;
  int64_t external_id = -1;
  CommunicationFacts facts;
  int16_t thread = -1;  // that called gloo
};

struct CollectiveCall {  // record_param_comms, nccl:all_reduce, on the CPU
  int64_t start_ns = 0;
  int64_t end_ns = 0;
  int64_t external_id = -1;
  int16_t thread = 0;
  CommunicationFacts facts;
  int64_t function_id = 0;  // of its record function; 0: not said
};

enum class BackwardKind : uint8_t {
  other,
  gradient,       // autograd::engine::evaluate_function: torch::autograd::AccumulateGrad
  inner_gradient  // torch::autograd::AccumulateGrad, within one of those
};

struct BackwardOperator {
  int64_t at_ns = 0;
  int64_t elements = -1;    // of the gradient; -1: not said
  int64_t function_id = 0;  // of its record function; 0: not said
  int16_t thread = 0;
  BackwardKind kind = BackwardKind::other;
  uint8_t element_B = 0;  // 0: not said
};

struct HostWork {  // operators of a thread, one after another
  int64_t start_ns = 0;
  int64_t end_ns = 0;
  int16_t thread = 0;
};

struct HostMessage {  // gloo:all_reduce
  Span span;
  DeviceMessage message;
  int64_t function_id = 0;  // 0: not said
};

enum class StepSign : uint8_t { optimizer, forward };

struct StepMark {  // Optimizer.step#SGD.step, DistributedDataParallel.forward
  Span span;
  StepSign sign = StepSign::optimizer;
};

struct StepWindow {  // ProfilerStep#N
  int64_t start_ns = 0;
  int64_t end_ns = 0;
  int64_t number = 0;
  bool is_open = false;  // it begins or ends with the file, not with a mark
};

// Job and machine, as far as the file says.
struct JobFacts {
  std::string backend;
  std::string nccl_version;
  std::string device;
  std::optional<int64_t> rank;
  std::optional<int64_t> ranks;
  bool is_of_more = false;  // ranks, perhaps: that it communicates is all that is known
};

// Events that could not be used, counted by reason.
using Oddities = std::map<std::string, int64_t>;

// What an execution trace of the same run added (execution_link.h).
struct LinkedFacts {
  std::string file;  // empty: there is none
  int64_t gradients = 0;
  int64_t collectives = 0;
  int64_t steps = 0;  // that it does not hold, and that got the sizes of one that it holds
};

struct ProfileRecords {
  std::string file;
  JobFacts job;
  int64_t events = 0;
  std::vector<StepWindow> windows;
  std::vector<StepWindow> device_windows;  // the same, as the device saw them
  std::vector<StepMark> marks;
  std::vector<Span> loading;  // the CPU waits for the next batch
  std::vector<HostWork> host;
  std::vector<HostMessage> host_messages;
  bool is_on_host = false;  // no device did anything
  bool has_backward_kernels = false;
  std::vector<LaunchCall> launches;
  std::vector<DeviceWork> work;
  std::vector<DeviceMessage> messages;
  std::vector<CollectiveCall> calls;
  std::vector<BackwardOperator> operators;
  std::vector<std::string> streams;  // for people: "device 0, stream 7"
  Oddities oddities;
  bool is_cut_off = false;
  LinkedFacts linked;
};

// `others` names kernels that communicate besides those of NCCL and RCCL.
ProfileRecords read_events(ByteSource& source, const NamePattern* others);

}  // namespace sgdsim::profiler
