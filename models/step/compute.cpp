// Time lines of computation, with and without interference.
#include "models/step/compute.h"

#include <algorithm>
#include <cmath>

#include "sim/core/scaled.h"

namespace sgdsim {

LayerParts::LayerParts(const Trace& trace) {
  const auto total_B = static_cast<double>(trace.gradient().count());
  before_.assign(1, 0);
  before_.reserve(trace.layers.size() + 1);
  int64_t sum_B = 0;
  for (const Layer& layer : trace.layers) {
    sum_B += layer.gradient.count();
    before_.push_back(total_B > 0 ? static_cast<double>(sum_B) / total_B : 1);
  }
}

Duration LayerParts::of(Duration whole, std::size_t layer) const {
  return scaled(whole, before_[layer + 1]) - scaled(whole, before_[layer]);
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
