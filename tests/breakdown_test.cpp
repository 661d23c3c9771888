// Where the time of a step goes: one definition for every strategy, compression, synchronization
// and fidelity, on random traces with stragglers and jitter.
#include <doctest/doctest.h>

#include "models/compression/registry.h"
#include "models/strategy/registry.h"
#include "models/synchronization/registry.h"
#include "sim/core/error.h"
#include "sim/core/random.h"
#include "study/step/experiment.h"

using namespace sgdsim;

namespace {

Json random_trace(Random& random) {
  Json layers = Json::array();
  const auto count = static_cast<int>(2 + random.below(6));
  for (int l = 0; l < count; ++l) {
    const auto us = [&] { return std::to_string(random.below(300)) + " us"; };
    layers.push_back({{"name", "l" + std::to_string(l)},
                      {"parameters", 1 + random.below(400'000)},
                      {"forward", us()},
                      {"backward", us()}});
  }
  return {{"schema", "sgdsim/trace/1"},
          {"name", "random"},
          {"update", std::to_string(random.below(50)) + " us"},
          {"layers", layers}};
}

Json workers_of(int kind) {
  if (kind == 0) return Json::object();
  const Json slow =
      Json::array({{{"worker", 1}, {"factor", 2.5}}, {{"worker", 3}, {"factor", 0.5}}});
  if (kind == 1) return {{"slow", slow}};
  return {{"slow", slow}, {"jitter", {{"distribution", "lognormal"}, {"sigma", 0.4}}}};
}

// The sums that the definitions state.
void check(const Breakdown& one, Duration iteration) {
  CHECK(one.exposed == iteration - one.forward - one.backward - one.compression - one.update);
  for (const Duration part : {one.forward, one.backward, one.compression, one.update, one.exposed,
                              one.communication, one.overlapped, one.waiting, one.idle})
    CHECK(part >= Duration());
  CHECK(one.waiting + one.idle <= one.exposed);
  CHECK(one.overlapped <= one.communication);
  // Each part of a mean is cut to whole picoseconds.
  CHECK(one.exposed - one.waiting - one.idle <=
        one.communication - one.overlapped + Duration::ps(4));
}

struct Count {
  int played = 0;
  int refused = 0;
};

void play(const Json& json, Count& count) {
  CAPTURE(json.dump());
  StepResult result;
  try {
    const Experiment experiment = read_experiment(resolve_experiment(Value(json, "test", ""), {}));
    result = simulate_step(experiment.question());
  } catch (const InputError&) {
    ++count.refused;
    return;
  }
  ++count.played;
  const Duration iteration =
      Duration::ps(result.total().ps() / static_cast<int64_t>(result.iterations.size()));
  check(result.mean, iteration);
  for (const Breakdown& worker : result.workers) check(worker, iteration);
}

}  // namespace

TEST_CASE("breakdown: exposed is what computation leaves, waiting and idle are parts of it") {
  Random random(31);
  Count count;
  std::vector<Json> synchronizations_of = {"none"};
  for (const SynchronizationKind& kind : synchronizations())
    synchronizations_of.push_back(std::string(kind.name));
  synchronizations_of.push_back(
      {{"name", "pipe_sgd"}, {"width", 5}, {"communication", "layerwise"}});
  std::vector<Json> compressions_of = {"none"};
  for (const CompressionKind& kind : compressions())
    compressions_of.push_back(std::string(kind.name));
  compressions_of.push_back({{"name", "truncate16"}, {"compress", "0.1 ns/B"}});
  for (int round = 0; round < 2; ++round)
    for (const StrategyKind& strategy : strategies())
      for (const Json& compression : compressions_of)
        for (const Json& synchronization : synchronizations_of)
          for (const char* fidelity : {"closed_form", "message"})
            for (int workers = 0; workers < 3; ++workers) {
              const bool in_one = synchronization.is_string() && synchronization != "none";
              if (in_one && strategy.name != "sync_easgd") continue;  // refused
              const bool servers = synchronization.is_string() &&
                                   (synchronization == "async_ps" || synchronization == "ssp");
              Json collective = {{"algorithm", "ring"}};
              if (servers) collective = {{"parameter_server", {{"servers", 1 + round}}}};
              play({{"schema", "sgdsim/experiment/1"},
                    {"trace", random_trace(random)},
                    {"cluster",
                     {{"schema", "sgdsim/cluster/1"},
                      {"shape", "single_switch"},
                      {"nodes", 5},
                      {"nic", {{"latency", "10 us"}, {"bandwidth", "25 Gbit/s"}}}}},
                    {"collective", collective},
                    {"strategy", std::string(strategy.name)},
                    {"compression", compression},
                    {"synchronization", synchronization},
                    {"workers", workers_of(workers)},
                    {"fidelity", fidelity},
                    {"iterations", 1 + random.below(5)},
                    {"warm_up", random.below(4)},
                    {"seed", random.below(1000)}},
                   count);
            }
  CHECK(2 * count.played > count.refused);  // not by refusing everything
}

// Five workers, one of which computes for 50 us longer; the message takes 5 us. The others wait.
TEST_CASE("breakdown: waiting beside computation is not waiting") {
  Json layers = Json::array();
  for (const char* name : {"first", "second"})
    layers.push_back(
        {{"name", name}, {"parameters", 250}, {"forward", "0 us"}, {"backward", "50 us"}});
  const Json json = {{"schema", "sgdsim/experiment/1"},
                     {"trace", {{"schema", "sgdsim/trace/1"}, {"name", "two"}, {"layers", layers}}},
                     {"cluster",
                      {{"schema", "sgdsim/cluster/1"},
                       {"shape", "single_switch"},
                       {"nodes", 5},
                       {"nic", {{"latency", "1 us"}, {"bandwidth", "25 Gbit/s"}}}}},
                     {"collective", {{"start_up", "5 us"}, {"per_byte", "0 ns/B"}}},
                     {"strategy", "wfbp"},
                     {"workers", {{"slow", Json::array({{{"worker", 4}, {"factor", 1.5}}})}}}};
  const Experiment experiment = read_experiment(resolve_experiment(Value(json, "test", ""), {}));
  const StepResult result = simulate_step(experiment.question());
  // The slow worker's gradients are ready at 75 and 150 us, the others' at 50 and 100: they wait
  // from 50 to 75 beside their own computation, and from 100 to 150 not. Exposed: 155 - 100.
  REQUIRE(result.workers.size() == 5);
  CHECK(result.iterations.front() == Duration::us(155));
  CHECK(result.workers[0].waiting == Duration::us(50));
  CHECK(result.workers[0].exposed == Duration::us(55));
  CHECK(result.workers[0].idle == Duration());
  CHECK(result.workers[0].communication == Duration::us(10));
  CHECK(result.workers[0].overlapped == Duration::us(5));
  CHECK(result.workers[4].waiting == Duration());
  CHECK(result.workers[4].exposed == Duration::us(5));
}
