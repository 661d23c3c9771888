// When a worker may go on with its next iteration, if not when all gradients of this one are
// summed.
//
// A synchronization is one file and one line in registry.h. It reads its own fields and plays the
// whole experiment; without one, models/step does.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "sim/core/json.h"
#include "sim/result.h"

namespace sgdsim {

struct StepQuestion;

struct Synchronization {
  std::string name;
  std::function<StepResult(const StepQuestion&)> play;
};

struct SynchronizationKind {
  std::string_view name;
  std::string_view summary;
  Synchronization (*read)(Object& fields);  // takes its fields from the object
};

// "pipe_sgd", or {"name": "pipe_sgd", "width": 2}.
Synchronization read_synchronization(const Value& value);

}  // namespace sgdsim
