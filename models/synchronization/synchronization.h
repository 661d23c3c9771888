// When a worker may go on with its next iteration, if not when all gradients of this one are
// summed.
//
// A synchronization is one file and one line in registry.h. It reads its own fields and plays the
// whole experiment; without one, models/step does.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/core/json.h"
#include "sim/play/result.h"

namespace sgdsim {

struct StepQuestion;

struct Synchronization {
  std::string name;
  std::function<StepResult(const StepQuestion&)> play;
  // What has to be played before results are those of the long run, and measured so that they are
  // whole: what an experiment does that does not say otherwise.
  int transient = 0;  // iterations before its steady state
  int measured = 1;   // iterations that give its mean
  int period = 1;     // iterations that repeat together

  // What is wrong with measuring so many; empty: nothing.
  std::vector<std::string> problems_of(int warm_up, int iterations) const;
};

constexpr int longest_transient = 10'000;  // played without being asked for

struct SynchronizationKind {
  std::string_view name;
  std::string_view summary;
  Synchronization (*read)(Object& fields);  // takes its fields from the object
};

// "pipe_sgd", or {"name": "pipe_sgd", "width": 2}.
Synchronization read_synchronization(const Value& value);

}  // namespace sgdsim
