// Training steps to be played in tests: a question with defaults, a ring's job, and random traces.
#pragma once

#include <string>

#include "models/step/step.h"
#include "models/strategy/registry.h"
#include "sim/core/random.h"

namespace sgdsim {

struct StepCase {
  Trace trace;
  Cluster cluster{"", Network::uniform(4, {}), 1, {}, {}};
  MessageCost cost;
  MessageCost broadcast;
  MessageCost reduce;
  WorkerModel workers;
  int iterations = 1;
  uint64_t seed = 1;
  double interference = 1;
  int channels = 1;
  int warm_up = 2;

  StepResult play(const std::string& strategy, Fidelity fidelity) const {
    const Strategy chosen = strategy_named(strategy, "test");
    return play(chosen, fidelity);
  }
  StepResult play(const Strategy& chosen, Fidelity fidelity) const {
    return simulate_step(question(chosen, fidelity));
  }
  StepQuestion question(const Strategy& chosen, Fidelity fidelity) const {
    StepQuestion question;
    question.trace = &trace;
    question.cluster = &cluster;
    question.strategy = &chosen;
    question.cost = cost;
    question.broadcast = broadcast;
    question.reduce = reduce;
    question.workers = workers;
    question.fidelity = fidelity;
    question.iterations = iterations;
    question.warm_up = warm_up;
    question.seed = seed;
    question.interference = interference;
    question.channels = channels;
    return question;
  }
};

inline CollectiveJob ring_job(const Cluster& cluster, bool fractional) {
  CollectiveJob job;
  job.team = {.size = cluster.network.workers(), .stride = 1};
  job.share = {.total = Bytes(1), .fractional = fractional, .split = {}};
  job.cost = cluster.network.worst();
  job.options.fractional_chunks = fractional;
  job.network = &cluster.network;
  return job;
}

inline Strategy strategy_of(const char* json) {
  const Json parsed = Json::parse(json);
  return read_strategy(Value(parsed, "test", ""));
}

inline Trace random_trace(Random& random) {
  Trace trace;
  const int layers = 1 + static_cast<int>(random.below(40));
  for (int l = 0; l < layers; ++l) {
    Layer layer;
    layer.name = std::to_string(l);
    layer.parameters = static_cast<int64_t>(random.below(100'000));
    layer.gradient = Bytes(4 * layer.parameters);
    layer.forward = Duration::ns(static_cast<int64_t>(random.below(500'000)));
    layer.backward = Duration::ns(static_cast<int64_t>(random.below(1'000'000)));
    trace.layers.push_back(layer);
  }
  return trace;
}

}  // namespace sgdsim
