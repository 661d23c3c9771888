// The inside of simulate_representative: one worker stands for all.
//
// representative.cpp computes and keeps the accounts of an iteration; representative_messages.cpp
// sends the messages of the plan.
#pragma once

#include <algorithm>
#include <array>
#include <optional>
#include <vector>

#include "models/step/compute.h"
#include "models/step/sparsity.h"
#include "models/step/step.h"

namespace sgdsim {

class Representative {
 public:
  explicit Representative(const StepQuestion& question)
      : question_(question),
        trace_(*question.trace),
        cost_(&question.cost),
        work_(backward_work(trace_)) {
    const int workers = question.cluster->network.workers();
    const std::vector<double> factors = fixed_factors(question.workers, workers);
    slowest_ = *std::max_element(factors.begin(), factors.end());
    for (Duration& work : work_) work = scaled(work, slowest_);
    for (const Layer& layer : trace_.layers) forward_.push_back(scaled(layer.forward, slowest_));
    update_ = scaled(trace_.update, slowest_);
  }
  // cost_ may point into itself.
  Representative(const Representative&) = delete;
  Representative& operator=(const Representative&) = delete;

  StepResult run();

 private:
  void play_iteration();
  void play_in_order(Duration forward_end);
  void play_on_channels(Duration forward_end);
  void play_by_priority(Duration forward_end);
  void play_bsp();
  struct Sent {
    Bytes size;
    ExchangeTime exchange;
    Duration compress;
    Duration decompress;
  };
  const Sent& sent(const PlannedMessage& message);
  Duration last_spread();
  Duration encode(const PlannedMessage& message, const Sent& sent, Backward& backward);
  Duration send(const PlannedMessage& message, const Sent& sent, Duration ready, Duration start,
                Duration spread);
  void record(const PlannedMessage& message, Duration ready, Duration start, Duration end);
  void finish_iteration(Duration forward_end);
  std::vector<Duration> forward_starts(Duration backward);
  void fill(Timeline& timeline) const;

  const StepQuestion& question_;
  const Trace& trace_;
  const MessageCost* cost_;  // at the present density
  std::optional<MessageCost> other_density_;
  double slowest_ = 1;
  std::vector<Duration> work_;
  std::vector<Duration> forward_;
  Duration update_;
  GradientPlan plan_;
  Duration wakes_;                  // see PlanInput
  std::vector<Duration> complete_;  // when each layer's messages have ended
  std::vector<MessageRecord> records_;
  BusyTimes busy_;
  std::vector<Duration> forward_starts_;
  Duration late_decompress_;  // in the next forward
  Duration late_update_;
  Duration backward_end_;
  std::vector<Duration> backward_ends_;  // of each layer
  struct Encoding {
    int layer;
    Bytes size;
    Duration start, end;
  };
  std::vector<Encoding> encodings_;  // between layers of the backward
  std::vector<Slice> in_turn_;       // BSP: computation and broadcasts, for the timeline
  Duration last_message_end_;
  Duration first_spread_;  // of the workers, by the last exchange of the iteration before
  Duration last_spread_;   // by the last exchange
  Duration communication_;
  Duration compress_;
  Duration decompress_;
  Duration iteration_;
  Breakdown breakdown_;
  Sparsity sparsity_;
  CollectiveJob job_;              // with everything but the size
  std::array<Sent, 64> recent_{};  // by a hash of the size
};

}  // namespace sgdsim
