// Plays a training step: one worker that stands for all, at the prices of closed forms (`Time`), or
// every worker, message by message (`Clocks`).
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "models/step/step_alone.h"
#include "models/step/step_graph.h"
#include "models/step/step_messages.h"
#include "models/step/step_now.h"
#include "models/step/step_workers.h"
#include "sim/play/dataflow.h"

namespace sgdsim {

template <class Clock>
class StepPlayer {
 public:
  // `pipeline`: null if every iteration waits for its sums.
  StepPlayer(const StepQuestion& question, const PipelineRule* pipeline);
  StepResult run();

  // The moves of the graph.
  void compute(const Action& action, Clock& now) { workers_.compute(action, now); }
  Clock exchange(const Action& action, Clock ready, const Clock& free) {
    return messages_.exchange(action, std::move(ready), free);
  }
  void enter(const Action& action, Clock ready) { messages_.enter(action, std::move(ready)); }
  template <class Ended>
  void hand_over(const Ended& ended) {
    messages_.hand_over(ended);
  }

 private:
  static constexpr bool one_for_all = StepWorkers<Clock>::one_for_all;

  void run_steady();
  void run_each();
  void begin_iteration(int iteration, int measured);
  Duration play_iteration(bool counts);
  Duration repeat_iteration();
  Duration finish_iteration(Clock next);
  void note_staleness();
  void find_reason();
  void add_part(const CriticalPart& part, bool is_message, std::size_t& stretch);
  bool choose_density(int measured);
  GradientPlan plan();
  void take(GradientPlan plan);
  bool are_apart();
  bool is_decided_in_time() const;
  void meet_in_time();
  void make_graph();

  void warn_of_past_traffic();
  void warn_of_unlike(Duration before);
  void note_sent();
  void note_carried();
  bool plans_differ() const;
  bool is_carried_known() const;
  WireUse use_of_wires();

  const StepQuestion& question_;
  StepNow step_;
  std::optional<MessageCost> other_density_;
  StepWorkers<Clock> workers_;
  StepMessages<Clock> messages_;
  std::unique_ptr<StepAlone> in_time_;  // if messages meet there
  StepGraph graph_;
  Dataflow<Clock> flow_;
  std::optional<Causes> causes_;
  int playing_ = 0;  // iteration, from 1 on
  bool is_planned_ = false;
  Clock starts_{};         // of the iteration
  Time last_end_;          // of the iteration before, on the last worker
  bool exchanges_ = true;  // this iteration sends gradients
  Replanner replanner_;
  Time wakes_;         // of it, before the last plan
  Sparsity sparsity_;  // of messages that only have a price
  // What was sent, on average of the measured iterations that sent something.
  struct Sent {
    int iterations = 0;
    double wire_B = 0;
    std::vector<double> carried_B;     // by each wire
    int without_carried = 0;           // iterations by the last plan that it does not have yet
    std::vector<double> by_warm_up_B;  // by each wire, in all, where plans differ
    Time warmed_up;                    // then
  } sent_;
  double staleness_ = 0;
  double staleness_max_ = 0;
  StepResult result_;
};

}  // namespace sgdsim
