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

void BusyTimes::add(Duration start, Duration end) {
  if (end <= start) return;
  if (!times_.empty() && start <= times_.back().end) {
    times_.back().end = std::max(times_.back().end, end);
    return;
  }
  times_.push_back({start, end});
}

Duration BusyTimes::finish(Duration now, Duration work, double slowdown) {
  while (next_ < times_.size() && times_[next_].end <= now) ++next_;
  for (std::size_t i = next_; i < times_.size() && work > Duration(); ++i) {
    const Interval& busy = times_[i];
    if (now < busy.start) {
      const Duration quiet = std::min(work, busy.start - now);
      now += quiet;
      work -= quiet;
    }
    if (work == Duration()) return now;
    const auto needed = Duration::nearest_ps(static_cast<double>(work.ps()) * slowdown);
    if (now + needed <= busy.end) return now + needed;
    const Duration slow = busy.end - now;
    work -= Duration::nearest_ps(static_cast<double>(slow.ps()) / slowdown);
    now = busy.end;
  }
  return now + std::max(Duration(), work);
}

Duration BusyTimes::within(Duration from, Duration to) const {
  Duration sum;
  for (const Interval& busy : times_)
    if (busy.end > from && busy.start < to)
      sum += std::min(busy.end, to) - std::max(busy.start, from);
  return sum;
}

}  // namespace sgdsim
