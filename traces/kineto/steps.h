// What one rank did in each training step: when its gradients were ready, and which collectives
// ran.
//
// A step is a window ProfilerStep#N of the CPU; what was launched in it belongs to it, also where
// the device does it later. Time counts from the start of the first computing kernel of the step.
//
// A gradient is ready at the end of the last kernel or copy of the compute stream that the thread
// of its AccumulateGrad launched before that operator began. Without such operators each all-reduce
// stands for its gradients, ready at the end of the last kernel or copy before it. The compute
// stream is the one with the most time in kernels that do not communicate; copies are no kernels.
// Kernels are never summed: where the CPU is slow, most of a step are gaps between them, and gaps
// stay.
//
// A collective's duration includes waiting for the other ranks, so that it is no transfer time.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "traces/kineto/events.h"

namespace sgdsim::profiler {

struct StepMessage {
  std::string kernel;
  CommunicationFacts facts;
  int64_t start_ns = 0;  // this and what follows: since the start of the step
  int64_t end_ns = 0;
  int64_t launch_ns = 0;
  int32_t launch_thread = -1;        // -1: its launch is not in the file
  std::size_t gradients_before = 0;  // whose operators began before the launch
  bool is_ahead = false;             // it was called on the CPU, and waits for the device
  bool is_bucket = false;            // an all-reduce of gradients
  int64_t alone_ns = 0;              // of other collectives: what no kernel that computes hides

  int64_t duration_ns() const { return end_ns - start_ns; }
  // Of what goes in; -1: not known.
  int64_t size_B() const;
};

// They add up to the iteration (parts.h).
struct StepParts {
  int64_t exposed_ns = 0;  // of the gradients' exchange
  // Not one of them: of the time from the last gradient to the end of the last bucket, what other
  // collectives take while no bucket is exchanged and no kernel computes.
  int64_t others_between_ns = 0;
  int64_t computing_ns = 0;
  int64_t copying_ns = 0;
  int64_t loading_ns = 0;
  int64_t idle_ns = 0;
  // Nor one of them: all that ran of collectives while no kernel computed.
  int64_t unhidden_ns = 0;
};

struct GradientSize {
  int64_t elements = -1;  // -1: not said
  int64_t element_B = 0;
};

struct ProfiledStep {
  int64_t number = 0;
  int64_t start_ns = 0;           // of its first computing kernel, by the clock of the file
  int64_t iteration_ns = 0;       // to the start of the next step, or else as the CPU's window says
  bool has_next = false;          // which of the two
  int64_t backward_ns = 0;        // when the first kernel of the backward pass started
  std::size_t passes = 1;         // backward: gradients are those of the last one
  std::vector<int64_t> ready_ns;  // in the order of the gradients' operators, never decreasing
  std::vector<GradientSize> sizes;    // of these gradients
  bool is_ready_by_bucket = false;    // there are no gradients, each bucket stands for its own
  std::vector<StepMessage> messages;  // in the order of their start
  StepParts parts;

  std::vector<StepMessage> buckets() const;
  int64_t last_ready_ns() const { return ready_ns.empty() ? 0 : ready_ns.back(); }
  int64_t communicated_ns() const;  // end of the last bucket; of the last gradient if later
  int64_t exposed_ns() const;       // of the gradients' exchange, once the parts are known
  int64_t update_ns() const { return iteration_ns - last_ready_ns() - exposed_ns(); }
};

struct StreamUse {
  std::string name;
  int64_t computing_ns = 0;
  int64_t communicating_ns = 0;
};

struct RankProfile {
  std::string file;
  JobFacts job;
  int64_t events = 0;
  std::vector<ProfiledStep> steps;
  std::vector<StreamUse> streams;
  std::string compute_stream;
  std::string told_by;  // what told steps apart; empty: ProfilerStep#N
  bool is_on_host = false;
  bool is_cut_off = false;
  LinkedFacts linked;
  std::vector<std::string> warnings;
};

// The first step is a cold one: it is left out unless it is the only one or `keep_first`.
// InputError if nothing can be said of any step.
RankProfile profile_of(ProfileRecords records, bool keep_first);

}  // namespace sgdsim::profiler
