// Speed of the training step: planning, closed form, and message fidelity with jitter. Every
// benchmark checks its answer before it is timed.
#include <benchmark/benchmark.h>
#include <stdexcept>
#include <string>

#include "models/compression/registry.h"
#include "models/step/step.h"
#include "models/strategy/registry.h"
#include "sim/core/random.h"

namespace {

using namespace sgdsim;

void require(bool holds, const char* what) {
  if (!holds) throw std::logic_error(std::string("wrong answer: ") + what);
}

Trace trace_of(int layers) {
  Random random(1);
  Trace trace;
  for (int l = 0; l < layers; ++l) {
    Layer layer;
    layer.name = std::to_string(l);
    layer.parameters = 1 + static_cast<int64_t>(random.below(300'000));
    layer.gradient = Bytes(4 * layer.parameters);
    layer.forward = Duration::us(200);
    layer.backward = Duration::us(400);
    trace.layers.push_back(layer);
  }
  return trace;
}

struct Setting {
  Trace trace;
  Cluster cluster;
  Strategy strategy;
  StepQuestion question;

  Setting(int layers, int workers, const std::string& algorithm, const std::string& name)
      : trace(trace_of(layers)), strategy(strategy_named(name, "bench")) {
    cluster.network =
        Network::uniform(workers, {Duration::us(20), PerByte::ps(100), PerByte::ps(10)});
    CollectiveJob job;
    job.team = {.size = workers, .stride = 1};
    job.share = {.total = Bytes(1), .fractional = false, .split = {}};
    job.cost = cluster.network.worst();
    question.trace = &trace;
    question.cluster = &cluster;
    question.strategy = &strategy;
    question.cost = MessageCost::of_algorithm(algorithm_named(algorithm, ""), job);
    question.fidelity = Fidelity::closed_form;
  }
};

// 161 tensors, any strategy: the bar is 20 us.
void closed_form(benchmark::State& state, const std::string& name) {
  const Setting setting(161, 64, "ring", name);
  const Duration compute = setting.trace.forward() + setting.trace.backward();
  require(simulate_step(setting.question).iterations.front() >= compute, "at least the compute");
  for (auto _ : state) benchmark::DoNotOptimize(simulate_step(setting.question));
}

// 161 tensors sent as something else, layer by layer or merged: the bar is 50 us.
void compressed(benchmark::State& state, const std::string& name, const std::string& strategy) {
  Setting setting(161, 64, "recursive_doubling", strategy);
  const Json json = {{"name", name}};
  Object fields(Value(json, "bench", ""));
  Compression compression =
      read_compression(fields, {setting.trace, 64, setting.cluster.network.worst()});
  CollectiveJob job = setting.question.cost.job();
  job.operation = compression.operation;
  const std::string algorithm =
      compression.algorithm.empty() ? "recursive_doubling" : compression.algorithm;
  setting.question.cost = MessageCost::compressed(
      MessageCost::of_algorithm(algorithm_named(algorithm, ""), job), std::move(compression));
  const Duration compute = setting.trace.forward() + setting.trace.backward();
  require(simulate_step(setting.question).iterations.front() >= compute, "at least the compute");
  for (auto _ : state) benchmark::DoNotOptimize(simulate_step(setting.question));
}

// The same bar for other synchronizations.
void synchronized(benchmark::State& state, const std::string& name) {
  Setting setting(161, 64, "ring", "sync_easgd");
  const Json json = name;
  const Synchronization synchronization = read_synchronization(Value(json, "bench", ""));
  setting.question.synchronization = &synchronization;
  const Duration compute = setting.trace.forward() + setting.trace.backward();
  require(simulate_step(setting.question).iterations.front() >= compute, "at least the compute");
  for (auto _ : state) benchmark::DoNotOptimize(simulate_step(setting.question));
}

// The exact optimum for 100,000 layers: the bar is 20 ms.
void plan_many_layers(benchmark::State& state) {
  const Trace trace = trace_of(100'000);
  const MessageCost cost = MessageCost::of_lines({{1e9, 100}});
  const std::vector<Duration> ready = ready_times(trace);
  const Strategy optimal = strategy_named("optimal", "bench");
  const Strategy greedy = strategy_named("mg_wfbp", "bench");
  const PlanInput input{trace, cost, ready};
  require(end_in_order(optimal.plan(input).messages, cost, ready) <=
              end_in_order(greedy.plan(input).messages, cost, ready),
          "never above the greedy rule");
  for (auto _ : state) benchmark::DoNotOptimize(optimal.plan(input));
}

void jittered(benchmark::State& state, int workers, int layers, const std::string& algorithm) {
  Setting setting(layers, workers, algorithm, "wfbp");
  setting.question.fidelity = Fidelity::message;
  const StepResult alike = simulate_step(setting.question);
  setting.question.fidelity = Fidelity::closed_form;
  require(simulate_step(setting.question).iterations.front() == alike.iterations.front(),
          "message fidelity equals the closed form without jitter");
  setting.question.fidelity = Fidelity::message;
  setting.question.workers.jitter = {{FactorDistribution::Kind::lognormal, 0.1}};
  const StepResult one = simulate_step(setting.question);
  for (auto _ : state) benchmark::DoNotOptimize(simulate_step(setting.question));
  state.counters["messages"] = static_cast<double>(one.message_count);
  state.counters["messages/s"] = benchmark::Counter(static_cast<double>(one.message_count),
                                                    benchmark::Counter::kIsIterationInvariantRate);
}

}  // namespace

int main(int argc, char** argv) {
  for (const StrategyKind& kind : strategies()) {
    const std::string name(kind.name);
    if (name == "bsp_lp") continue;
    benchmark::RegisterBenchmark(("closed_form/" + name).c_str(),
                                 [name](benchmark::State& state) { closed_form(state, name); });
  }
  for (const CompressionKind& kind : compressions())
    for (const std::string strategy : {"wfbp", "omgs"}) {
      const std::string name(kind.name);
      benchmark::RegisterBenchmark(
          ("compressed/" + name + "/" + strategy).c_str(),
          [=](benchmark::State& state) { compressed(state, name, strategy); });
    }
  for (const std::string name : {"pipe_sgd", "local_sgd"})
    benchmark::RegisterBenchmark(("synchronized/" + name).c_str(),
                                 [name](benchmark::State& state) { synchronized(state, name); });
  benchmark::RegisterBenchmark("optimal_plan/100000_layers", plan_many_layers)
      ->Unit(benchmark::kMillisecond);
  auto add = [](const char* name, int workers, int layers, const char* algorithm) {
    benchmark::RegisterBenchmark(name, [=](benchmark::State& state) {
      jittered(state, workers, layers, algorithm);
    })->Unit(benchmark::kMillisecond);
  };
  add("jitter/recursive_doubling_1024x160", 1024, 160, "recursive_doubling");
  add("jitter/ring_256x160", 256, 160, "ring");
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  benchmark::RunSpecifiedBenchmarks();
}
