// Plain flows on fat trees: how the cost of a flow grows with what a change touches.
#include <algorithm>
#include <benchmark/benchmark.h>
#include <string>

#include "models/traffic/traffic.h"
#include "sim/play/play_flows.h"
#include "topologies/cluster_file.h"

namespace {

using namespace sgdsim;

// 5,000 flows of 1 MB on a tree of k-port switches at 100 Gbit/s, at a load in percent.
void poisson(benchmark::State& state) {
  const auto k = static_cast<int>(state.range(0));
  const Json link = {{"latency", "1 us"}, {"bandwidth", "100 Gbps"}};
  const Json json = {
      {"shape", "fat_tree"}, {"k", k}, {"nodes", k * k * k / 4}, {"nic", link}, {"uplink", link}};
  const Cluster cluster = read_cluster(Value(json, "bench", "")).cluster;
  const Json traffic = {{"generator", "poisson"},
                        {"load", static_cast<double>(state.range(1)) / 100},
                        {"size", "1 MB"},
                        {"count", 5000}};
  const std::vector<PlainFlow> flows = read_flows(Value(traffic, "bench", ""), cluster.network, 1);
  const auto wires = cluster.wires({});
  FlowsQuestion question;
  question.flows = flows;
  question.network = &cluster.network;
  question.resources = wires.get();
  for (auto _ : state) {
    const FlowsPlayed played = play_flows(question);
    if (std::find(played.ends.begin(), played.ends.end(), Time::last()) != played.ends.end())
      state.SkipWithError("a flow has not ended");
  }
  state.SetItemsProcessed(state.iterations() * static_cast<int64_t>(flows.size()));
}
BENCHMARK(poisson)
    ->Unit(benchmark::kMillisecond)
    ->Args({16, 30})
    ->Args({16, 50})
    ->Args({16, 80})
    ->Args({8, 80});

}  // namespace
