// The graph of a training step: what the plan of a strategy and the rule of a synchronization ask
// every worker to do in an iteration.
#pragma once

#include "models/strategy/strategy.h"
#include "models/synchronization/synchronization.h"
#include "sim/work/graph.h"

namespace sgdsim {

// Streams of a worker: what it computes, what it sends, and what reads its batches.
constexpr uint8_t compute_stream = 0;
constexpr uint8_t network_stream = 1;
constexpr uint8_t loader_stream = 2;

struct StepShape {
  const Trace* trace = nullptr;
  const GradientPlan* plan = nullptr;
  const PipelineRule* pipeline = nullptr;  // null: every iteration waits for its sums
  int iteration = 0;
  bool exchanges = true;  // else gradients stay where they are
  bool compressed = false;
  bool together = false;  // messages share the network: they are played together
};

struct StepGraph {
  WorkGraph graph;
  uint32_t begin = 0;     // where the iteration begins
  uint32_t backward = 0;  // and its backward pass, where that follows all of the forward pass
};
void make_step_graph(const StepShape& shape, StepGraph& step);

}  // namespace sgdsim
