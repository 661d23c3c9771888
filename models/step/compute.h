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

// What goes layer by layer after the messages, as an update does: each layer has its part by the
// bytes of its gradient, and the parts add up to the whole, to the picosecond. Where no layer has a
// gradient, the first has all of it: it comes before the next forward, and waits for no message.
class LayerParts {
 public:
  explicit LayerParts(const Trace& trace);
  Duration of(Duration whole, std::size_t layer) const;

 private:
  std::vector<double> before_;  // part of all layers before each one, and behind the last 1
};

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
