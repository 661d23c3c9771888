// Execution traces of PyTorch (ExecutionTraceObserver): which operators ran, with the shapes of
// their tensors, and no times.
//
// A node has the id of its record function (rf_id), which a profile of the same run has as "Record
// function id": so a profile without shapes gets its sizes from here (execution_link.h).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/core/byte_source.h"
#include "traces/kineto/events.h"
#include "traces/kineto/sizes.h"

namespace sgdsim::profiler {

struct TracedGradient {
  int64_t node = 0;
  int64_t function_id = 0;  // 0: none
  int64_t elements = -1;    // -1: not said
  uint8_t element_B = 0;
  uint8_t type = 0;  // one of the trace's
  BackwardKind kind = BackwardKind::gradient;
};

// One collective is recorded by several nodes, one within the other.
enum class CallLevel : uint8_t { communication, backend, dispatcher };

struct TracedCollective {
  int64_t node = 0;
  int64_t function_id = 0;
  CallLevel level = CallLevel::communication;
  CommunicationFacts facts;
};

struct ExecutionTrace {
  std::string file;
  std::string schema;
  int64_t nodes = 0;
  int64_t operators = 0;                      // that have a schema
  std::vector<std::string> types;             // of elements; the first is ""
  std::vector<TracedGradient> gradients;      // by node, that is in the order in which they began
  std::vector<TracedCollective> collectives;  // by node; what only waits is none
  std::vector<int64_t> step_nodes;            // ProfilerStep#N
  std::vector<int64_t> optimizer_nodes;       // Optimizer.step#...
  std::vector<int64_t> function_ids;          // of all nodes, sorted

  const std::string& type_of(const TracedGradient& one) const { return types[one.type]; }
};

// InputError if the file is no execution trace, ends too early, or contradicts itself.
ExecutionTrace read_execution_trace(ByteSource& source);

// Whether a content, by its beginning, is one.
bool is_execution_trace(std::string_view text);

// Why no trace and no step can be made of it, and what to type instead.
std::string why_no_times(const std::string& file);

// ---- steps

struct TracedSteps {
  std::vector<std::vector<TracedGradient>> gradients;  // of each step that has some
  std::string told_by;                                 // empty: nothing tells steps apart

  bool are_alike() const;  // in the sizes of their gradients
};
TracedSteps steps_of(const ExecutionTrace& trace);

// A step's parameters in the order in which the model registers them, as the order of the
// gradients implies. InputError if a size is not known, or steps differ.
ParameterSizes parameters_of(const ExecutionTrace& trace);

}  // namespace sgdsim::profiler
