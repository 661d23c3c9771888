// Time lines of computation, with and without interference.
#include "models/step/compute.h"

#include <algorithm>
#include <cmath>

#include "sim/core/scaled.h"

namespace sgdsim {

std::vector<double> gradient_shares(const Trace& trace) {
  const auto total_B = static_cast<double>(std::max<int64_t>(1, trace.gradient().count()));
  std::vector<double> shares;
  shares.reserve(trace.layers.size());
  for (const Layer& layer : trace.layers)
    shares.push_back(static_cast<double>(layer.gradient.count()) / total_B);
  return shares;
}

std::vector<Duration> backward_work(const Trace& trace) {
  const std::vector<Duration> ready = ready_times(trace);
  std::vector<Duration> work(ready.size());
  Duration before = trace.forward();
  for (std::size_t l = ready.size(); l-- > 0;) {
    work[l] = std::max(Duration(), ready[l] - before);
    before = std::max(before, ready[l]);
  }
  return work;
}

std::vector<Duration> ready_as_profiled(const Trace& trace) {
  std::vector<Duration> ready = backward_work(trace);
  Duration now = trace.forward();
  for (std::size_t l = ready.size(); l-- > 0;) ready[l] = now += ready[l];
  return ready;
}

WorkerWork draw_work(const Trace& trace, const std::vector<Duration>& backward_work,
                     const WorkerModel& workers, double fixed, const Draw& draw) {
  WorkerFactors factors(workers, fixed, draw.seed, draw.worker, draw.iteration);
  const std::size_t layers = backward_work.size();
  WorkerWork work;
  work.forward.resize(layers);
  work.backward.resize(layers);
  for (std::size_t l = 0; l < layers; ++l)
    work.forward[l] = scaled(trace.layers[l].forward, factors.next_layer());
  for (std::size_t l = layers; l-- > 0;)
    work.backward[l] = scaled(backward_work[l], factors.next_layer());
  work.factor = factors.of_iteration();
  return work;
}

void raise_ready(const WorkerWork& work, Duration start, std::vector<Duration>& ready) {
  for (const Duration forward : work.forward) start += forward;
  for (std::size_t l = work.backward.size(); l-- > 0;) {
    start += work.backward[l];
    ready[l] = std::max(ready[l], start);
  }
}

}  // namespace sgdsim
