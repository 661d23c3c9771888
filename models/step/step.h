// One experiment: a trace, on a cluster, under a strategy, for some iterations.
#pragma once

#include <functional>
#include <optional>

#include "models/collective/simulate.h"
#include "models/strategy/strategy.h"
#include "models/synchronization/synchronization.h"
#include "models/worker/worker.h"
#include "sim/play/clocks.h"
#include "sim/play/result.h"
#include "sim/play/timeline.h"

namespace sgdsim {

// Of a worker: its gradients change a part of the parameters, or it gets them.
enum class ServerVisit : uint8_t { push, pull };

struct StepQuestion {
  const Trace* trace = nullptr;
  const Cluster* cluster = nullptr;
  const Strategy* strategy = nullptr;
  const Synchronization* synchronization = nullptr;  // null: every iteration waits for its sums
  MessageCost cost;                                  // of one gradient message
  MessageCost broadcast;  // of parameters; only bsp_lp with a root asks for it
  MessageCost reduce;     // likewise
  WorkerModel workers;
  Fidelity fidelity = Fidelity::message;
  MakeCarrier carrier = {};  // fidelity packet: of messages
  Meanwhile meanwhile = {};  // on the wires; at fidelity message, flows at the ports
  int iterations = 1;        // measured ones
  int warm_up = 0;
  uint64_t seed = 1;
  int channels = 1;              // messages of a worker that may be in flight
  double interference = 1;       // compute takes this much longer while the worker communicates
  Timeline* timeline = nullptr;  // filled in if given
  bool wants_reason = false;     // the result says why it takes as long as it does
  // Messages have been played: when those of an iteration start and end on each worker, together
  // with what else is on the network.
  std::function<std::vector<ExchangeTimes>(int iteration)> played;
  // Asynchronous: called when a server has changed its part of the parameters by a worker's
  // gradients, and when it answers with them.
  std::function<void(int worker, int part, ServerVisit visit)> visited;
  // Found by on_its_wires(): what messages share, and where dedicated servers have nodes behind the
  // workers', the cluster with them.
  std::shared_ptr<Resources> wires;
  std::shared_ptr<const Cluster> with_servers;
  Stopper* stopper = nullptr;
};

// At closed form one worker, the slowest, stands for all; at message fidelity every worker has its
// own clock and every message is played. Both give the same where workers are alike.
// Strategies that carry messages over into the next iteration need a warm-up to reach their steady
// state; at closed form one is played without being asked for.
StepResult simulate_step(const StepQuestion& question);

// The question at fidelity flow or packet with its wires.
StepQuestion on_its_wires(StepQuestion question);

// Every dedicated server has a node of its own; null: there are none.
std::shared_ptr<const Cluster> cluster_with_servers(const StepQuestion& question);

// What its synchronization says of iterations that overlap; null: every iteration waits for its
// sums, or nobody does.
const PipelineRule* pipeline_rule(const StepQuestion& question);

// Whether its strategy plans before every iteration; where iterations overlap none does.
inline bool plans_anew(const StepQuestion& question) {
  return question.strategy->replans && pipeline_rule(question) == nullptr;
}

// The plan where gradients are ready as in the trace.
GradientPlan profiled_plan(const StepQuestion& question, const MessageCost& cost);
// InputError where the strategy would make no difference, but for the one that does what is played.
void check_strategy(const StepQuestion& question);
// InputError where the plan asks for what the question does not allow.
void check_plan(const StepQuestion& question, const GradientPlan& plan);
// What its messages are made into.
std::vector<Encoded> encoded_messages(const GradientPlan& plan, const MessageCost& cost);

}  // namespace sgdsim
