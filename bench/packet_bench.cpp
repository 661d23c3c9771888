// Packets on fat trees: every worker sends 2 MB to another one, in packets of 4 KiB on all ways.
#include <algorithm>
#include <benchmark/benchmark.h>
#include <string>

#include "models/traffic/traffic.h"
#include "models/transport/transport.h"
#include "sim/net/packet_report.h"
#include "sim/play/play_flows.h"
#include "topologies/cluster_file.h"

namespace {

using namespace sgdsim;

void permutation(benchmark::State& state, const Json& transport) {
  const auto k = static_cast<int>(state.range(0));
  const Json link = {{"latency", "1 us"}, {"bandwidth", "100 Gbps"}};
  const Json json = {
      {"shape", "fat_tree"}, {"k", k}, {"nodes", k * k * k / 4}, {"nic", link}, {"uplink", link}};
  const Cluster cluster = read_cluster(Value(json, "bench", "")).cluster;
  const Json traffic = {{"generator", "permutation"}, {"size", "2 MB"}};
  const std::vector<PlainFlow> flows = read_flows(Value(traffic, "bench", ""), cluster.network, 1);
  const PacketSetup setup = read_transport(Value(transport, "bench", ""), {}, 1);
  const auto wires = cluster.wires({});
  FlowsQuestion question;
  question.flows = flows;
  question.network = &cluster.network;
  question.resources = wires.get();
  question.carrier = [&](Resources& resources, Agenda& agenda, LinkWatch* watch) {
    return std::make_unique<Packets>(resources, setup, agenda, watch);
  };
  int64_t packets = 0;
  for (auto _ : state) {
    const FlowsPlayed played = play_flows(question);
    if (std::find(played.ends.begin(), played.ends.end(), Time::last()) != played.ends.end())
      state.SkipWithError("a flow has not ended");
    packets += played.packets->counts.ended;
  }
  state.SetItemsProcessed(packets);
}

void ndp(benchmark::State& state) {
  permutation(state, {{"name", "ndp"},
                      {"packet", "4096 B"},
                      {"header", "64 B"},
                      {"first_window", 50},
                      {"queue", 50}});
}
BENCHMARK(ndp)->Unit(benchmark::kMillisecond)->Arg(8)->Arg(16);

void dctcp(benchmark::State& state) { permutation(state, {{"name", "dctcp"}}); }
BENCHMARK(dctcp)->Unit(benchmark::kMillisecond)->Arg(8);

void mlt(benchmark::State& state) { permutation(state, {{"name", "mlt"}}); }
BENCHMARK(mlt)->Unit(benchmark::kMillisecond)->Arg(8);

}  // namespace
