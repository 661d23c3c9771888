// Traces as files of schema sgdsim/trace/1, or as the same object inside an experiment.
//
// The fields are described in docs/trace-format.md, and by `sgdsim schema trace`. The reader checks
// everything; what it does not know is whether the figures are true, which is what `source` is for.
#pragma once

#include <string>

#include "sim/core/json.h"
#include "sim/work/trace.h"

namespace sgdsim {

inline constexpr char trace_schema[] = "sgdsim/trace/1";

Json schema_of_traces();
Trace read_trace(const Value& value);
Trace read_trace_file(const std::string& file);

// What reads back to the same trace. Forward times are written per layer, however they came.
Json to_json(const Trace& trace);
// The same as a file: one layer on each line.
std::string to_text(const Trace& trace);

}  // namespace sgdsim
