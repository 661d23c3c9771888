// A recording as a trace: one layer for each gradient, with the moment at which it was ready.
#pragma once

#include <optional>
#include <string>

#include "traces/kineto/recording.h"
#include "traces/kineto/sizes.h"

namespace sgdsim::profiler {

struct ImportedStep {
  Trace trace;
  // Why the recorded buckets cannot be replayed; empty: they hold whole gradients of the trace.
  std::string no_buckets;
};

// Without sizes, the elements of each bucket are divided among its gradients, and a note says so.
ImportedStep trace_of(const Recording& recording, const std::optional<ParameterSizes>& sizes,
                      const std::string& name);

}  // namespace sgdsim::profiler
