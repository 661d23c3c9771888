// The inside of simulate_all_workers: every worker's clocks, and what moves them.
//
// all_workers.cpp computes and keeps the accounts of an iteration; all_workers_messages.cpp plays
// the messages of the plan.
#pragma once

#include <utility>
#include <vector>

#include "models/step/clocks.h"
#include "models/step/compute.h"
#include "models/step/exchange.h"
#include "models/step/sparsity.h"
#include "models/step/step.h"

namespace sgdsim {

struct WorkerInStep {
  Time start;  // of the iteration
  Time forward_end;
  Time backward_now;  // as far as backward has been played
  Time last_end;      // of the messages so far
  Duration communication;
  Duration waiting;
  Duration compress;
  Duration decompress;
  Duration update;
  Duration left_decompress;  // to the next forward, where that goes layer by layer
  Duration left_update;
  Duration late_decompress;  // what of it this forward has done
  Duration late_update;
  Time loaded;  // when the next batch is there
  Duration forward_work;
  Duration backward_work;
  BusyTimes busy;
  BusyTimes waits;
};

class AllWorkers {
 public:
  explicit AllWorkers(const StepQuestion& question)
      : question_(question),
        trace_(*question.trace),
        network_(question.cluster->network),
        cost_(question.cost),
        player_(network_),
        work_(backward_work(trace_)),
        shares_(gradient_shares(trace_)),
        fixed_(fixed_factors(question.workers, network_.workers())) {
    const bool alike = question.workers.all_alike();
    // One entry stands for all workers as long as all are at the same point.
    states_.resize(alike ? 1 : fixed_.size());
    allowed_.resize(states_.size());
  }

  StepResult run();

 private:
  int workers() const { return network_.workers(); }
  bool alike() const { return states_.size() == 1 && workers() > 1; }
  void expand();
  template <class F>
  void record(const F& slice_of);
  void choose_density(int measured);
  void plan_as_profiled();
  void plan_as_played();
  void start_iteration(int iteration);
  Clocks play_forward(int layer, const Clocks& starts);
  void play_all_forward();
  Clocks wait_for_batches(Clocks now);
  Clocks play_update(int layer, Clocks now);
  Duration compute(WorkerInStep& state, Duration work) const;
  void play_backward(int layer);
  void play_backward_to(int layer);
  Encoded encoded_of(const PlannedMessage& message) const { return cost_.encoded(message.group()); }
  Clocks ready_of(const PlannedMessage& message, const Encoded& encoded);
  struct Sending;
  Clocks send(const Sending& what, Clocks starts);
  Clocks exchange(const PlannedMessage& message, const Encoded& encoded, const Clocks& starts,
                  Time ready);
  Sending sending_of(const PlannedMessage& message, const Encoded& encoded);
  void record_exchange(const PlannedMessage& message, const Clocks& starts, const Clocks& ends,
                       Time ready);
  void account(const Sending& what, Clocks starts, Clocks& ends);
  void play_in_order();
  void play_on_channels();
  void play_by_priority();
  struct BspMoves;
  void play_bsp();
  Account account_of(const WorkerInStep& state) const;
  void finish_iteration(bool measured);

  const StepQuestion& question_;
  const Trace& trace_;
  const Network& network_;
  MessageCost cost_;  // at this iteration's density
  Exchange player_;
  std::vector<Duration> work_;
  std::vector<double> shares_;  // of an update layer by layer
  std::vector<double> fixed_;
  std::vector<double> factors_;  // of this iteration's computation
  std::vector<WorkerInStep> states_;
  std::vector<std::vector<Duration>> allowed_;     // per worker and layer, after its start
  std::vector<std::vector<Duration>> forward_;     // what a layer takes, per worker
  std::vector<std::vector<Duration>> layer_work_;  // likewise, of the backward
  std::vector<Clocks> complete_;                   // per worker and layer; gate per layer only
  GradientPlan plan_;
  Time wakes_;  // see PlanInput
  int next_layer_ = 0;
  int iteration_ = 0;
  int channel_ = 0;  // that the current message uses
  Time origin_;      // of the iteration: its first worker's start
  Time last_iteration_end_;
  std::vector<MessageRecord> records_;
  Sparsity sparsity_;
  StepResult result_;
  std::vector<Account> sums_;
};

// Adds a slice for every worker that the timeline wants; `slice_of` gets its place in states_.
template <class F>
void AllWorkers::record(const F& slice_of) {
  if (question_.timeline == nullptr || !question_.timeline->wants(iteration_)) return;
  for (const int worker : question_.timeline->workers) {
    Slice slice = slice_of(states_.size() == 1 ? std::size_t{0} : static_cast<std::size_t>(worker));
    slice.worker = worker;
    slice.iteration = iteration_;
    question_.timeline->add(slice);
  }
}

}  // namespace sgdsim
