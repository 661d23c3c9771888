// The compute stream of one worker: forward, then backward layer by layer, slowed down while its
// messages travel.
#pragma once

#include <vector>

#include "models/worker/worker.h"
#include "sim/work/trace.h"

namespace sgdsim {

// What a layer's backward takes: the time from the gradient before it to its own, gaps included.
std::vector<Duration> backward_work(const Trace& trace);

// When each gradient is ready, by that work; without any interference.
std::vector<Duration> ready_as_profiled(const Trace& trace);

// Of each layer, its part of all gradient bytes: of an update that goes layer by layer.
std::vector<double> gradient_shares(const Trace& trace);

// Which random draws: of this worker in this iteration.
struct Draw {
  uint64_t seed = 1;
  int worker = 0;
  int iteration = 0;
};
// What the layers take in an iteration, and how much slower than the trace everything else is that
// the worker computes.
struct WorkerWork {
  std::vector<Duration> forward;
  std::vector<Duration> backward;
  double factor = 1;
};
// `fixed`: how much slower the worker always is.
WorkerWork draw_work(const Trace& trace, const std::vector<Duration>& backward_work,
                     const WorkerModel& workers, double fixed, const Draw& draw);
// If it starts then, without any interference: raises when gradients are ready to when its are.
void raise_ready(const WorkerWork& work, Duration start, std::vector<Duration>& ready);

}  // namespace sgdsim
