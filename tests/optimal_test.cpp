// The optimum of merging never loses to any other merging of the same messages, whatever a message
// costs: on every collective and cluster that ships, on links with random segments, and against
// every way to cut a small trace.
#include <doctest/doctest.h>
#include <filesystem>
#include <map>
#include <set>

#include "models/collective/registry.h"
#include "models/step/step.h"
#include "models/strategy/registry.h"
#include "sim/core/error.h"
#include "sim/core/random.h"
#include "study/step/collective_field.h"
#include "study/step/experiment.h"
#include "study/step/override.h"
#include "tests/repository.h"
#include "topologies/cluster_file.h"
#include "traces/trace_file.h"

using namespace sgdsim;

namespace {

Trace random_trace(Random& random, int layers) {
  Trace trace;
  for (int l = 0; l < layers; ++l) {
    Layer layer;
    layer.name = std::to_string(l);
    // Some without gradients; sizes from bytes to tens of megabytes.
    layer.parameters = random.below(10) == 0 ? 0 : int64_t{1} << random.below(24);
    layer.gradient = Bytes(4 * layer.parameters);
    layer.forward = Duration::us(static_cast<int64_t>(random.below(1000)));
    layer.backward = Duration::us(static_cast<int64_t>(random.below(4000)));
    trace.layers.push_back(layer);
  }
  return trace;
}

struct Times {
  Duration optimal;
  std::map<std::string, Duration> others;  // that merge, and send in order
};

Times times_of(const Trace& trace, const Cluster& cluster, const MessageCost& cost) {
  Times times;
  // Those that cut or reorder gradients, or send something else, are no mergings.
  const std::set<std::string> no_mergings = {"naive", "bytescheduler", "p3", "bsp_lp"};
  for (const StrategyKind& kind : strategies()) {
    const std::string name(kind.name);
    if (no_mergings.contains(name)) continue;
    const Strategy strategy = strategy_named(name, "test");
    StepQuestion question;
    question.trace = &trace;
    question.cluster = &cluster;
    question.strategy = &strategy;
    question.cost = cost.on(cluster.network);
    question.fidelity = Fidelity::closed_form;
    const Duration time = simulate_step(question).iterations.front();
    (name == "optimal" ? times.optimal : times.others[name]) = time;
  }
  return times;
}

// On a line, chunks round to whole bytes, up to the time of some bytes per message and worker.
void check_never_loses(const Times& times, double tolerance) {
  for (const auto& other : times.others) {  // clang 14 captures no structured bindings
    CAPTURE(other.first);
    CHECK(static_cast<double>(times.optimal.ps()) <=
          static_cast<double>(other.second.ps()) * (1 + tolerance));
  }
}

// A link whose start-up and rate change at up to four sizes, up or down.
std::string random_link(Random& random) {
  const auto costs = [&] {
    return R"("latency": ")" + std::to_string(1 + random.below(300)) + R"( us", "per_byte": ")" +
           std::to_string(1 + random.below(900)) + R"( ps/B")";
  };
  std::string text = "{" + costs() + R"(, "segments": [)";
  int64_t from = 1;
  const uint64_t segments = 1 + random.below(4);
  for (uint64_t s = 0; s < segments; ++s) {
    from *= int64_t{2} << random.below(7);
    text += std::string(s == 0 ? "" : ", ") + R"({"from": ")" + std::to_string(from) + R"( B", )" +
            costs() + "}";
  }
  return text + "]}";
}

Cluster cluster_of(const std::string& text) {
  return read_cluster(Document::parse(text, "test").root()).cluster;
}

MessageCost cost_of(const std::string& algorithm, const Cluster& cluster) {
  CollectiveField field;
  field.algorithms = {&algorithm_named(algorithm, "test")};
  return field.cost(cluster, Operation::allreduce);
}

}  // namespace

TEST_CASE("optimal: never loses on 1,000 random links with segments") {
  Random random(20261120);
  for (int round = 0; round < 1000; ++round) {
    CAPTURE(round);
    const int nodes = 2 + static_cast<int>(random.below(40));
    const Cluster cluster =
        cluster_of(R"({"shape": "single_switch", "nodes": )" + std::to_string(nodes) +
                   R"(, "nic": )" + random_link(random) + "}");
    const Trace trace = random_trace(random, 3 + static_cast<int>(random.below(40)));
    check_never_loses(times_of(trace, cluster, cost_of("ring", cluster)), 0);
  }
}

TEST_CASE("optimal: never loses with any collective on any cluster that ships") {
  const Trace trace = read_trace_file(in_repository("traces/data/googlenet_k80.json"));
  int pairs = 0;
  for (const auto& entry : std::filesystem::directory_iterator(in_repository("topologies/data"))) {
    const Cluster cluster = read_cluster_file(entry.path().string()).cluster;
    for (const Algorithm& algorithm : algorithms()) {
      CAPTURE(entry.path().string());
      CAPTURE(algorithm.name);
      try {
        const MessageCost cost = cost_of(std::string(algorithm.name), cluster);
        cost.of(Bytes(1));  // is there a closed form?
        check_never_loses(times_of(trace, cluster, cost), 1e-4);
        ++pairs;
      } catch (const InputError&) {
        // no all-reduce, not for these ranks, or no closed form
      }
    }
  }
  CHECK(pairs > 60);
}

TEST_CASE(
    "optimal: hierarchical GPT-2 on rented machines, where the worst pair is not the cost inside") {
  const Trace trace = read_trace_file(in_repository("traces/data/gpt2_1558m_h100.json"));
  const Cluster cluster =
      read_cluster_file(in_repository("topologies/data/cloud_v100_25gbe.json")).cluster;
  check_never_loses(times_of(trace, cluster, cost_of("hierarchical", cluster)), 1e-6);
}

TEST_CASE("optimal: equals the best of all cuts on links with segments") {
  Random random(7);
  for (int round = 0; round < 200; ++round) {
    CAPTURE(round);
    const Cluster cluster =
        cluster_of(R"({"shape": "single_switch", "nodes": 8, "nic": )" + random_link(random) + "}");
    const Trace trace = random_trace(random, 9);
    const MessageCost cost = cost_of("ring", cluster);
    const Duration planned = times_of(trace, cluster, cost).optimal;
    // Every set of cuts between the gradients, in backward order, one message after another.
    std::vector<Duration> ready;
    std::vector<Bytes> sizes;
    Duration now;
    Duration compute;
    for (std::size_t l = trace.layers.size(); l-- > 0;) {
      now += trace.layers[l].backward;
      compute += trace.layers[l].forward;
      if (trace.layers[l].gradient == Bytes()) continue;
      ready.push_back(now);
      sizes.push_back(trace.layers[l].gradient);
    }
    if (sizes.empty()) continue;
    Duration best = Duration::longest();
    for (uint32_t cuts = 0; cuts < uint32_t{1} << (sizes.size() - 1); ++cuts) {
      Duration end;
      Bytes group;
      for (std::size_t g = 0; g < sizes.size(); ++g) {
        group += sizes[g];
        if (g + 1 < sizes.size() && (cuts >> g & 1U) == 0) continue;
        end = std::max(end, ready[g]) + cost.of(group);
        group = Bytes();
      }
      best = std::min(best, end);
    }
    CHECK(planned == compute + std::max(best, now));
  }
}

TEST_CASE("optimal: more gradients than it can merge on a cost that is no line are refused") {
  Random random(1);
  const Cluster cluster = cluster_of(
      R"({"shape": "single_switch", "nodes": 4, "nic": {"latency": "10 us", "per_byte": "1 ns/B",
          "segments": [{"from": "4 KiB", "latency": "30 us", "per_byte": "0.5 ns/B"}]}})");
  Trace trace;
  trace.layers.assign(10'000, {});
  for (Layer& layer : trace.layers) layer.gradient = Bytes(1000);
  CHECK_THROWS_WITH_AS(times_of(trace, cluster, cost_of("ring", cluster)),
                       doctest::Contains("optimal merges at most 8192 gradients"), InputError);
}

TEST_CASE("optimal: never loses with any compression, whose work delays the gradients behind it") {
  const std::vector<std::string> compressions = {
      R"({"name": "topk", "density": 0.001, "selection": "v100"})",
      R"({"name": "topk2", "density": 0.01, "selection": "v100"})",
      R"({"name": "gtopk", "density": 0.001, "selection": "p102_100"})",
      R"({"name": "truncate16", "compress": {"per_byte": "0.01 ns/B"}, "decompress": {"per_byte": "0.01 ns/B"}})",
      R"({"name": "quantize8", "compress": {"start_up": "30 us", "per_byte": "0.05 ns/B"}, "decompress": {"per_byte": "0.02 ns/B"}})",
      R"({"name": "lags", "density": 0.1})",
      R"({"name": "qsgd", "levels": 4, "compress": {"per_byte": "0.05 ns/B"}, "decompress": {"per_byte": "0.02 ns/B"}})"};
  int compared = 0;
  for (const std::string& compression : compressions)
    for (const char* const bandwidth : {"1 Gbps", "10 Gbps", "100 Gbps"}) {
      CAPTURE(compression);
      CAPTURE(bandwidth);
      const auto time_of = [&](const std::string& strategy) {
        const Experiment experiment = read_experiment(resolve_experiment(
            in_repository("app/experiments/alexnet_gtopk_1gbe.json"),
            {"compression=" + compression, "strategy=" + strategy, "fidelity=closed_form",
             std::string("cluster.nic={\"latency\": \"20 us\", \"bandwidth\": \"") + bandwidth +
                 "\"}"}));
        return simulate_step(experiment.question()).iterations.front();
      };
      const Duration best = time_of("optimal");
      for (const char* const strategy : {"wfbp", "mg_wfbp", "sync_easgd", "ddp", "fixed_buckets",
                                         "omgs", R"({"name": "omgs", "rule": "exact"})"}) {
        CAPTURE(strategy);
        // Whose buckets part a layer may spread the entries that it was to send by itself.
        if (compression.find("lags") != std::string::npos && std::string(strategy) == "ddp")
          continue;
        CHECK(best <= time_of(strategy));
        ++compared;
      }
    }
  CHECK(compared == 7 * 3 * 7 - 3);
}
