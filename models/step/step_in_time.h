// A step as its workers play it in time: what is the same for all of them, and each worker's way
// through the graphs of its iterations.
//
// What a worker computes is known ahead of time: it goes on up to the first action that waits for
// messages which have not ended. Who plays the messages asks for those that are to be sent, and
// says when they have ended.
#pragma once

#include <deque>
#include <vector>

#include "models/step/compute.h"
#include "models/step/step.h"
#include "models/step/step_graph.h"
#include "sim/net/resources.h"

namespace sgdsim {

class StepInTime {
 public:
  // InputError for what JobsInTime::why_not() names.
  explicit StepInTime(const StepQuestion& question);

  const StepQuestion& question() const { return *question_; }
  const GradientPlan& plan() const { return plan_; }
  int workers() const { return question_->cluster->network.workers(); }
  int iterations() const { return question_->warm_up + question_->iterations; }

  // The messages of the plan, and behind them the parameters of each layer if they are broadcast.
  std::size_t messages() const { return encoded_.size(); }
  // In an iteration: none if gradients stay where they are.
  std::size_t messages_in(int iteration) const { return exchanges(iteration) ? messages() : 0; }
  const Encoded& encoded(std::size_t message) const { return encoded_[message]; }
  const MessageCost& cost_of(std::size_t message) const;
  Freight freight_of(std::size_t message) const;
  bool goes_by_priority() const { return plan_.order == Order::priority; }
  // A collective starts when all workers are there, and ends for all at once.
  bool drains() const { return plan_.bsp != BspForm::none && plan_.bsp_drains; }

 private:
  friend class WorkerInTime;
  struct Graph {
    StepGraph step;
    std::vector<uint32_t> actions;  // that send each message
  };
  bool exchanges(int iteration) const {
    return pipeline_ == nullptr || (iteration + 1) % pipeline_->every == 0;
  }
  const Graph& graph_of(int iteration) const;
  void make(Graph& graph, int iteration, bool sends) const;
  // The first message of an action that sends some.
  std::size_t first_message(const Action& action) const {
    const auto first = static_cast<std::size_t>(action.first);
    return action.activity == Activity::broadcast ? plan_.messages.size() + first : first;
  }

  const StepQuestion* question_;
  const PipelineRule* pipeline_ = nullptr;
  GradientPlan plan_;
  std::vector<Encoded> encoded_;
  std::vector<Duration> traced_;  // of the backward pass
  std::vector<double> shares_;    // of an update layer by layer
  std::vector<double> fixed_;     // factors of the workers
  Graph exchanging_;
  Graph first_;  // of iterations that are still played in step
  Graph alone_;  // without messages
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
  WorkerInTime(const StepInTime& step, int number, Time start);

  // Goes on as far as it can; returns how many entries `to_send` has more.
  std::size_t go_on();
  void end(std::size_t message, int iteration, Time now);
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
  Duration work_of(const Action& action) const;
  Duration decompress() const;
  void start_iteration();

  const StepInTime* step_;
  const StepInTime::Graph* graph_ = nullptr;
  int number_;
  int iteration_ = 0;
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
};

}  // namespace sgdsim
