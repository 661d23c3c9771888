// The compute stream of one worker: forward, then backward layer by layer, slowed down while its
// messages travel.
#pragma once

#include <vector>

#include "models/worker/worker.h"
#include "sim/work/trace.h"

namespace sgdsim {

// What a layer's backward takes: the time from the gradient before it to its own, gaps included.
std::vector<Duration> backward_work(const Trace& trace);

// Of each layer, its part of all gradient bytes: of an update that goes layer by layer.
std::vector<double> gradient_shares(const Trace& trace);

// `factor` times as long, to the nearest picosecond.
Duration scaled(Duration length, double factor);

// Which random draws: of this worker in this iteration.
struct Draw {
  uint64_t seed = 1;
  int worker = 0;
  int iteration = 0;
};
// What each layer's forward and backward take in an iteration; returns the factor of everything
// else that the worker computes.
double draw_work(const Trace& trace, const std::vector<Duration>& backward_work,
                 const WorkerModel& workers, double fixed, const Draw& draw,
                 std::vector<Duration>& forward, std::vector<Duration>& backward);

// When the worker communicates, in order; overlapping entries are merged.
class BusyTimes {
 public:
  void clear() {
    times_.clear();
    next_ = 0;
  }
  void add(Duration start, Duration end);
  // The end of `work` that starts at `now`, taking `slowdown` times as long while busy. Calls must
  // come with growing `now`.
  Duration finish(Duration now, Duration work, double slowdown);
  // How much of from .. to is busy.
  Duration within(Duration from, Duration to) const;

 private:
  struct Interval {
    Duration start, end;
  };
  std::vector<Interval> times_;
  std::size_t next_ = 0;  // the first interval that does not end before the last `now`
};

// One worker's backward pass, advanced as far as it is needed.
class Backward {
 public:
  Backward(const std::vector<Duration>& work, double slowdown)
      : work_(&work),
        slowdown_(slowdown),
        next_(static_cast<int>(work.size()) - 1),
        ends_(work.size()) {}
  void start(Duration now) {
    now_ = now;
    next_ = static_cast<int>(work_->size()) - 1;
  }
  // When the gradient of this layer is ready; layers must be asked for downwards.
  Duration ready(int layer, BusyTimes& busy) {
    for (; next_ >= layer; --next_) {
      const Duration work = (*work_)[static_cast<std::size_t>(next_)];
      now_ = slowdown_ == 1 ? now_ + work : busy.finish(now_, work, slowdown_);
      ends_[static_cast<std::size_t>(next_)] = now_;
    }
    return now_;
  }
  const std::vector<Duration>& ends() const { return ends_; }  // of each layer played

  // Other work of the compute stream, as encoding, between layers.
  Duration spend(Duration work, BusyTimes& busy) {
    now_ = slowdown_ == 1 ? now_ + work : busy.finish(now_, work, slowdown_);
    return now_;
  }

 private:
  const std::vector<Duration>* work_;
  double slowdown_;
  int next_;
  Duration now_;
  std::vector<Duration> ends_;
};

}  // namespace sgdsim
