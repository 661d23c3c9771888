// A step as its workers play it in time: what is the same for all of them, and each worker's way
// through the graphs of its iterations.
//
// What a worker computes is known ahead of time: it goes on up to the first action that waits for
// messages which have not ended. Who plays the messages asks for those that are to be sent, and
// says when they have ended. Where messages slow computation down, it goes on up to what it
// computes: who plays asks when that begins or ends, and says when messages of the worker travel.
#pragma once

#include <deque>
#include <optional>
#include <vector>

#include "models/step/exchange.h"
#include "models/step/replanner.h"
#include "models/step/step_graph.h"
#include "sim/net/resources.h"
#include "sim/play/slowed_work.h"

namespace sgdsim {

// Up to where a step has been played by somebody else; nothing of it is on the network.
struct StepSoFar {
  int iteration = 0;   // the first that has not been
  Clocks starts = {};  // of it, on every worker; none: all start with the job
  Time wakes = {};     // see PlanInput
};

// How many iterations follow for what is asked of the last ones to have others behind it.
int iterations_behind(const StepQuestion& question);

class StepInTime {
 public:
  // InputError for what is not played on shared wires.
  StepInTime(const StepQuestion& question, const StepSoFar& so_far, bool goes_on);

  const StepQuestion& question() const { return *question_; }
  int workers() const { return question_->cluster->network.workers(); }
  int iterations() const { return question_->warm_up + question_->iterations; }
  // And those that follow them.
  int all_iterations() const { return iterations() + behind_; }
  int first_iteration() const { return first_iteration_; }

  // A strategy that plans anew does so when all workers have begun the iteration; until then they
  // wait, which costs them nothing, since no message can be ready before.
  bool is_planned(int iteration) const { return !replanner_ || iteration <= planned_iteration_; }
  void begins(int iteration, const WorkerWork& work, Time start);  // on one more worker
  // False if no plan is due.
  bool plan_anew();
  int planned_iteration() const { return planned_iteration_; }

  // Of an iteration that is planned.
  const GradientPlan& plan(int iteration) const { return planned(iteration).plan; }
  // The messages of the plan, and behind them the parameters of each layer if they are broadcast;
  // none if gradients stay where they are.
  std::size_t messages_in(int iteration) const {
    return exchanges(iteration) ? planned(iteration).encoded.size() : 0;
  }
  const Encoded& encoded(int iteration, std::size_t message) const {
    return planned(iteration).encoded[message];
  }
  const MessageCost& cost(int iteration) const { return cost_at(density_step(iteration)); }
  // If it is a collective.
  const JoinedTransfers& sent(int iteration, std::size_t message) const {
    return planned(iteration).sent[message];
  }
  Freight freight_of(int iteration, std::size_t message) const;
  // Before then a message does not go, even if it is ready. To be asked once it is ready somewhere:
  // no worker begins the iteration later and yet first.
  Time not_before(int iteration, std::size_t message) const;

  bool goes_by_priority() const { return planned_.front().plan.order == Order::priority; }
  // Behind the state of workers (see there): when iterations after this one begin.
  void add_state(int iteration, Time now, std::vector<int64_t>& state) const;
  // A collective starts when all workers are there, and ends for all at once.
  bool drains() const {
    const GradientPlan& plan = planned_.front().plan;
    return plan.bsp != BspForm::none && plan.bsp_drains;
  }

 private:
  friend class WorkerInTime;
  struct Graph {
    StepGraph step;
    std::vector<uint32_t> actions;  // that send each message
  };
  struct Planned {
    GradientPlan plan;
    std::vector<Encoded> encoded;
    std::vector<JoinedTransfers> sent;
    Graph exchanging;
    Graph first;  // of iterations that are still played in step
    Graph alone;  // without messages
  };
  bool exchanges(int iteration) const {
    return pipeline_ == nullptr || (iteration + 1) % pipeline_->every == 0;
  }
  std::size_t density_step(int iteration) const;
  const MessageCost& cost_at(std::size_t density_step) const {
    return density_step == 0 ? question_->cost : other_costs_[density_step - 1];
  }
  const Planned& planned(int iteration) const {
    return planned_[replanner_ ? 0 : density_step(iteration)];
  }
  const Graph& graph_of(int iteration) const;
  void take(GradientPlan plan, const MessageCost& cost, Planned& planned);
  void make(const Planned& planned, Graph& graph, int iteration, bool sends) const;
  // The first message of an action that sends some.
  static std::size_t first_message(const GradientPlan& plan, const Action& action) {
    const auto first = static_cast<std::size_t>(action.first);
    return action.activity == Activity::broadcast ? plan.messages.size() + first : first;
  }

  const StepQuestion* question_;
  const PipelineRule* pipeline_ = nullptr;
  int first_iteration_ = 0;
  int behind_ = 0;
  std::vector<Duration> traced_;         // of the backward pass
  LayerParts parts_;                     // of an update layer by layer
  std::vector<double> fixed_;            // factors of the workers
  Exchange exchange_;                    // keeps what is sent
  std::deque<MessageCost> other_costs_;  // at the second density, and so on
  std::deque<Planned> planned_;          // at each density; or of one iteration, if there is a
  std::optional<Replanner> replanner_;   // strategy that plans anew
  int planned_iteration_ = 0;            // which one
  bool has_cycles_ = false;              // messages wait for a cycle
  std::vector<Time> origins_;            // if so: when the first worker began each iteration
};

// Messages that get ready together: the pieces of a layer, or one.
struct MessagesToSend {
  std::size_t first = 0;
  std::size_t last = 0;
  int iteration = 0;
  Time ready;
};

class WorkerInTime {
 public:
  WorkerInTime(StepInTime& step, int number, Time start);

  // Goes on as far as it can; returns how many entries `to_send` has more.
  std::size_t go_on();
  void end(std::size_t message, int iteration, Time now);

  // Where messages slow down what it computes, that is in parts: layers of a pass, or all.
  bool has_part() const { return parts_left_ > 0; }
  bool has_begun_part() const { return part_.has_value(); }
  // When the part begins, or if nothing changes ends.
  Time due() const { return part_ ? part_->end() : begins_; }
  // From now on messages of the worker travel, or do not; begins the part if that is due.
  void turn(Time now, bool is_slow);
  void end_part(Time now);  // go_on() goes on
  // Adds all that says what the worker does from now on, as long as none of its messages is under
  // way: counted from this iteration and from now.
  void add_state(int iteration, Time now, std::vector<int64_t>& state) const;
  std::deque<MessagesToSend> to_send;  // in the order of the graph

 private:
  // What an action waits for: all that has ended, and how many messages have not.
  struct Wait {
    Time until;
    int missing = 0;
  };
  bool play(const Action& action);
  void send(const Action& action, Time ready);
  template <class Change>
  void change_waits(uint32_t action, int iteration, const Change& change);
  void start_parts(const Action& action, Time start);
  void finish(const Action& action, Time end);
  Duration work_of(const Action& action) const;
  Duration work_of_layer(const Action& action, int layer) const;
  Duration decompress() const;
  void start_iteration();

  StepInTime* step_;
  const StepInTime::Graph* graph_ = nullptr;
  int number_;
  int iteration_;
  uint32_t next_ = 0;          // action
  std::size_t next_wait_ = 0;  // of the graph's
  WorkerWork work_;
  Time computed_;
  Time loaded_;  // the next batch
  Time sent_;    // the last message
  int under_way_ = 0;
  Duration left_decompress_;  // to the next forward, where that goes layer by layer
  Duration left_update_;
  std::vector<Wait> waits_;  // by their places
  int parts_left_ = 0;       // of the action that is computed
  Time begins_;              // the next of them
  std::optional<SlowedWork> part_;
};

}  // namespace sgdsim
