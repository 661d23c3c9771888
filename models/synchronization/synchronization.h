// When a worker may go on with its next iteration, if not when all gradients of this one are
// summed.
//
// A synchronization is one file and one line in registry.h. It describes its own fields and says
// which rule holds; models/step plays it.
#pragma once

#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "sim/core/part.h"

namespace sgdsim {

// Iterations whose exchanges overlap with the computation of later ones, or are left out. Per
// worker, with Cs and Ce the start and end of the computation and Ae the end of the exchange,
//
//   Cs_t = max(Ce_(t-1), Ae_(t-K))     Ae_t = max(Ae_(t-1), ready_t) + exchange
//
// where the computation is the update with the sums of t - K, forward, backward and encoding.
struct PipelineRule {
  int width = 1;           // K: iteration t waits for the exchange of t - K; 1 is synchronous
  int synchronous = 0;     // the first iterations, with width 1
  int every = 1;           // H: only every H-th iteration ends with an exchange
  bool layerwise = false;  // the strategy's messages, as soon as they are ready; else one message
  bool ends_with_computation = false;  // an iteration ends when its computation does
  bool averages_parameters = false;    // instead of summing gradients
  // What lessons do with the mean change of an average: Nesterov's step (DiLoCo). Costs nothing.
  double outer_rate = 1;
  double outer_momentum = 0;
};

// Workers that do not wait for each other: each pushes its gradients to the parameter servers,
// which update at once, and pulls the parameters back.
struct AsynchronousRule {
  static constexpr int no_bound = -1;
  int bound = no_bound;  // by so many iterations may a worker be ahead of the slowest one
  bool divides_by_staleness = false;  // lessons: a gradient that missed s updates counts 1/(s + 1)
};
// Zhang and others, Staleness-aware Async-SGD, IJCAI 2016.
Field divide_by_staleness_field(bool& divides);

struct Synchronization {
  std::string name;
  std::variant<PipelineRule, AsynchronousRule> rule;
  // What has to be played before results are those of the long run, and measured so that they are
  // whole: what an experiment does that does not say otherwise.
  int transient = 0;  // iterations before its steady state
  int measured = 1;   // iterations that give its mean
  int period = 1;     // iterations that repeat together

  // Whether it sends the strategy's messages; else everything goes in one, whatever the strategy.
  bool plays_strategy() const;
  // So many exchanges may be under way at a time: of a pipeline those go together, and so do their
  // iterations.
  void send_on(int channels);
  // What is wrong with measuring so many; empty: nothing.
  std::vector<std::string> problems_of(int warm_up, int iterations) const;
};

constexpr int longest_transient = 10'000;  // played without being asked for

struct SynchronizationKind {
  std::string_view name;
  std::string_view summary;
  PartOptions (*options)();
  Synchronization (*read)(Object& fields);  // takes its fields from the object
};

// "pipe_sgd", or {"name": "pipe_sgd", "width": 2}.
Synchronization read_synchronization(const Value& value);
Json schema_of_synchronizations();

}  // namespace sgdsim
