// The events of a profile, sorted into the windows of its steps.
#pragma once

#include <cstdint>
#include <vector>

#include "traces/kineto/launches.h"
#include "traces/kineto/steps.h"

namespace sgdsim::profiler {

struct ComputeWork {
  int32_t thread = 0;
  int64_t launch_ns = 0;
  int64_t start_ns = 0;
  int64_t end_ns = 0;
};

// What happened within the window of a step, in times of the file.
struct OpenStep {
  StepWindow window;
  std::vector<ComputeWork> computing;       // kernels, by thread and launch
  std::vector<ComputeWork> copying;         // on the compute stream, likewise
  std::vector<BackwardOperator> operators;  // by time
  std::vector<StepMessage> messages;        // by start
  bool is_on_host = false;                  // no device: operators are the work
  bool has_launches = true;                 // else work belongs to the step in which it runs
  bool is_training = false;                 // something else than operators says so
  std::size_t missing = 0;                  // launches of kernels without a kernel, and vice versa

  int64_t zero_ns() const;  // the start of the first computing kernel; only if there is one
};

struct SortedProfile {
  std::vector<OpenStep> steps;  // by time
  std::size_t unlaunched = 0;   // kernels and copies whose launch is not in the file
  bool has_launches = true;     // else work belongs to the step in which it runs
  std::size_t workless = 0;     // launches of kernels, in steps, whose kernel is not in the file
};

SortedProfile sorted_into_steps(const ProfileRecords& records, const Launches& launches,
                                std::size_t compute_stream);

}  // namespace sgdsim::profiler
