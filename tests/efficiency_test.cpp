// No step is faster than one worker alone, and its update is always played: models without
// gradients, of one layer, of no time, under every strategy, synchronization and fidelity. And a
// strategy that would make no difference is refused.
#include <doctest/doctest.h>
#include <sstream>

#include "models/step/jobs_in_time.h"
#include "models/strategy/registry.h"
#include "models/synchronization/registry.h"
#include "sim/core/error.h"
#include "sim/core/random.h"
#include "study/step/experiment.h"
#include "study/step/result_json.h"
#include "tests/rounds.h"
#include "tests/run_program.h"

namespace sgdsim {
namespace {

Json experiment_of(const Json& layers, const Json& strategy, const Json& synchronization,
                   const char* fidelity, int nodes) {
  const bool servers = synchronization == "async_ps" || synchronization == "ssp";
  Json collective = {{"algorithm", "ring"}};
  if (servers) collective = {{"parameter_server", Json::object()}};
  return {{"schema", "sgdsim/experiment/1"},
          {"trace", {{"schema", "sgdsim/trace/1"}, {"update", "3 ms"}, {"layers", layers}}},
          {"cluster",
           {{"schema", "sgdsim/cluster/1"},
            {"shape", "single_switch"},
            {"nodes", nodes},
            {"nic", {{"latency", "10 us"}, {"bandwidth", "10 Gbit/s"}}}}},
          {"collective", collective},
          {"strategy", strategy},
          {"synchronization", synchronization},
          {"fidelity", fidelity}};
}

struct PlainLayer {
  uint64_t parameters;
  std::string forward, backward;
};
Json layers_of(const std::vector<PlainLayer>& layers) {
  Json json = Json::array();
  for (const PlainLayer& layer : layers)
    json.push_back({{"name", "l" + std::to_string(json.size())},
                    {"parameters", layer.parameters},
                    {"forward", layer.forward},
                    {"backward", layer.backward}});
  return json;
}

Experiment read(const Json& json) {
  return read_experiment(resolve_experiment(Value(json, "test", ""), {}));
}
Metrics metrics_of(const Json& json) {
  const Experiment experiment = read(json);
  return metrics_of(experiment, simulate_step(experiment.question()));
}
std::string refusal_of(const Json& json) {
  try {
    metrics_of(json);
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

std::vector<Json> all_synchronizations() {
  std::vector<Json> all = {"none"};
  for (const SynchronizationKind& kind : synchronizations()) all.push_back(std::string(kind.name));
  all.push_back({{"name", "pipe_sgd"}, {"communication", "layerwise"}});
  all.push_back({{"name", "pipe_sgd"}, {"width", 1}});
  return all;
}

constexpr const char* some_fidelities[] = {"closed_form", "message", "flow", "packet"};

// 1 ms forward and 2 ms backward in all, and an update of 3 ms.
const std::vector<Json> without_gradients = {
    layers_of({{0, "1 ms", "2 ms"}}), layers_of({{0, "1 ms", "0 us"}, {0, "0 us", "2 ms"}}),
    layers_of({{0, "0.4 ms", "1 ms"}, {0, "0.3 ms", "0.5 ms"}, {0, "0.3 ms", "0.5 ms"}})};

}  // namespace

TEST_CASE("efficiency: without gradients a step is what it computes, its update included") {
  int played = 0;
  for (const Json& layers : without_gradients)
    for (const StrategyKind& strategy : strategies())
      for (const Json& synchronization : all_synchronizations())
        for (const char* fidelity : some_fidelities)
          for (const int nodes : {1, 4}) {
            Json json =
                experiment_of(layers, std::string(strategy.name), synchronization, fidelity, nodes);
            CAPTURE(json.dump());
            if (!refusal_of(json).empty()) continue;
            ++played;
            const bool servers = synchronization == "async_ps" || synchronization == "ssp";
            const Metrics metrics = metrics_of(json);
            CHECK(metrics.efficiency <= 1);
            // A server updates for one worker after the other; one that is alone waits for nothing
            // but the latencies of what it pushes and pulls, 20 us each.
            double expected_us = 6000;
            if (servers) expected_us = nodes > 1 ? 3000. * nodes : 6040;
            CHECK(metrics.mean_us == doctest::Approx(expected_us).epsilon(1e-9));
          }
  CHECK(played > 300);
}

// With gradients, of no time, of times that halves of picoseconds make, and from the first
// iteration on: the update is a part of each.
TEST_CASE("efficiency: it is never above 1") {
  Random random(61);
  const auto some = [&](uint64_t most) { return std::to_string(random.below(most)) + " ps"; };
  int played = 0;
  for (int round = 0; round < rounds(12); ++round)
    for (const StrategyKind& strategy : strategies())
      for (const Json& synchronization : all_synchronizations())
        for (const char* fidelity : some_fidelities) {
          std::vector<PlainLayer> layers;
          const std::size_t count = 1 + (round % 3 == 0 ? 0 : random.below(6));
          const uint64_t most_ps = round % 4 == 0 ? 3 : 2'000'000'000;
          for (std::size_t l = 0; l < count; ++l)
            layers.push_back({random.below(3) == 0 ? 0 : 1 + random.below(200'000), some(most_ps),
                              some(most_ps)});
          Json json = experiment_of(layers_of(layers), std::string(strategy.name), synchronization,
                                    fidelity, 1 + static_cast<int>(random.below(5)));
          json["trace"]["update"] = some(2 * most_ps);
          if (synchronization == "none" && random.below(2) == 0) json["warm_up"] = 0;
          CAPTURE(json.dump());
          if (!refusal_of(json).empty()) continue;
          ++played;
          CHECK(metrics_of(json).efficiency <= 1);
        }
  CHECK(played > rounds(800) / 2);
}

// By hand: 6 ms without messages, where 3 ms of update went missing.
TEST_CASE("efficiency: priorities keep the update of the first iteration") {
  for (const char* strategy : {"p3", "bytescheduler"})
    for (const char* fidelity : {"message", "flow"}) {
      Json json =
          experiment_of(layers_of({{250'000, "1 ms", "2 ms"}}), strategy, "none", fidelity, 1);
      json["warm_up"] = 0;
      json["iterations"] = 3;
      const Experiment experiment = read(json);
      const StepResult result = simulate_step(experiment.question());
      CHECK(result.iterations == std::vector<Duration>(3, Duration::ms(6)));
      CHECK(result.mean.update == Duration::ms(3));
    }
}

TEST_CASE("strategies: refused where everything goes in one message") {
  const Json layers = layers_of({{250'000, "1 ms", "2 ms"}, {500'000, "1 ms", "2 ms"}});
  const std::vector<Json> in_one = {"pipe_sgd",
                                    {{"name", "pipe_sgd"}, {"communication", "sequential"}},
                                    {{"name", "local_sgd"}, {"steps", 2}},
                                    "async_ps",
                                    "ssp"};
  for (const Json& synchronization : in_one)
    for (const char* fidelity : {"closed_form", "message", "flow"}) {
      CAPTURE(synchronization.dump());
      const Json& named = synchronization.is_string() ? synchronization : synchronization["name"];
      const auto name = named.get<std::string>();
      Json json = experiment_of(layers, "sync_easgd", synchronization, fidelity, 4);
      const double mean_us = metrics_of(json).mean_us;
      for (const StrategyKind& strategy : strategies()) {
        if (strategy.name == "sync_easgd") continue;
        json["strategy"] = std::string(strategy.name);
        const std::string refusal = refusal_of(json);
        CHECK(refusal.find(name + " sends everything in one message") != std::string::npos);
        CHECK(refusal.find("set it to sync_easgd, not to " + std::string(strategy.name)) !=
              std::string::npos);
        CHECK((refusal.find("\"layerwise\"") != std::string::npos) == (name == "pipe_sgd"));
      }
      // What is played has that name.
      json.erase("strategy");
      const Experiment experiment = read(json);
      CHECK(experiment.strategy.name == "sync_easgd");
      CHECK(metrics_of(json).mean_us == mean_us);
    }
  // Where a strategy's messages are sent, they differ: two messages or one.
  Json layerwise = experiment_of(
      layers, "wfbp", {{"name", "pipe_sgd"}, {"communication", "layerwise"}}, "message", 4);
  CHECK(simulate_step(read(layerwise).question()).messages.size() == 2);
  layerwise["strategy"] = "sync_easgd";
  CHECK(simulate_step(read(layerwise).question()).messages.size() == 1);
  layerwise["strategy"] = "p3";
  CHECK(refusal_of(layerwise).find("but wfbp or optimal") != std::string::npos);
}

TEST_CASE("strategies: jobs and sweeps refuse them as well") {
  const Json layers = layers_of({{250'000, "1 ms", "2 ms"}});
  const Experiment experiment = read(experiment_of(layers, "p3", "local_sgd", "flow", 4));
  StepQuestion question = experiment.question();
  question.wires = experiment.cluster.wires({});
  CHECK_THROWS_WITH_AS(JobsInTime(alone_in_time(question)),
                       doctest::Contains("sends everything in one message"), InputError);
  const Ran swept = run_sgdsim({"sweep", "app/experiments/googlenet_k80.json", "--axis",
                                "strategy=wfbp,sync_easgd,p3", "--set", "synchronization=local_sgd",
                                "--set", "fidelity=closed_form"});
  std::istringstream lines(swept.out);
  int refused = 0;
  for (std::string line; std::getline(lines, line);) {
    const Json point = Json::parse(line);
    const bool is_played = point["axes"]["strategy"] == "sync_easgd";
    CHECK(point.contains("error") != is_played);
    refused += is_played ? 0 : 1;
  }
  CHECK(refused == 2);
}

TEST_CASE("strategies: a plan has one line where everything goes in one message") {
  const Ran ran = run_sgdsim({"plan", "app/experiments/googlenet_k80.json", "--set",
                              "synchronization=pipe_sgd", "--format", "json"});
  REQUIRE(ran.exit_code == 0);
  const Json answer = Json::parse(ran.out);
  REQUIRE(answer["plans"].size() == 1);
  CHECK(answer["plans"][0]["strategy"] == "sync_easgd");
  CHECK(ran.log.find("strategies do not differ") != std::string::npos);
}

}  // namespace sgdsim
