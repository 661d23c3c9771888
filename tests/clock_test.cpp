// The clock never wraps around: whatever a step or a collective would take, the answer is that time
// or a sentence. A wrapped time shows as a slower network that is faster, or as a step shorter than
// its own computation.
#include <cmath>
#include <doctest/doctest.h>

#include "models/collective/registry.h"
#include "models/collective/simulate.h"
#include "models/strategy/registry.h"
#include "models/synchronization/registry.h"
#include "sim/core/error.h"
#include "study/step/experiment.h"

using namespace sgdsim;

namespace {

const std::string refusal = "a time beyond 106 days";

// Nothing if the clock cannot hold it; any other refusal fails.
std::optional<Duration> iteration(const std::vector<std::string>& settings) {
  const std::string file = std::string(SGDSIM_SOURCE_DIR) + "/app/experiments/googlenet_k80.json";
  try {
    const Experiment experiment = read_experiment(resolve_experiment(file, settings));
    const StepResult result = simulate_step(experiment.question());
    const Duration compute = result.mean.forward + result.mean.backward;
    Duration mean;
    for (const Duration one : result.iterations) mean += one;
    mean = Duration::ps(mean.ps() / static_cast<int64_t>(result.iterations.size()));
    CHECK(mean >= Duration());
    // Asynchronous workers and stale pipelines may overlap steps, but no worker skips its own work.
    CHECK(compute > Duration());
    return mean;
  } catch (const InputError& error) {
    if (std::string(error.what()).find(refusal) == std::string::npos)
      FAIL(std::string(error.what()));
    return std::nullopt;
  }
}

// From a usable link to 10^18 times as slow, each ten times as slow as the one before: the answers
// never fall, and once the clock is full it stays full.
void check_slower_and_slower(const std::vector<std::string>& settings) {
  Duration before;
  bool full = false;
  for (int decade = 0; decade <= 18; ++decade) {
    std::vector<std::string> all = settings;
    all.push_back("cluster.nic.per_byte=1e" + std::to_string(decade) + " ps/B");
    const auto time = iteration(all);
    CAPTURE(decade);
    if (!time) {
      full = true;
      continue;
    }
    CHECK(!full);
    CHECK(*time >= before);
    before = *time;
  }
  CHECK(full);
}

}  // namespace

TEST_CASE("clock: slower and slower links never wrap a step's time, for every strategy") {
  for (const StrategyKind& kind : strategies())
    for (const char* const fidelity : {"closed_form", "message"}) {
      CAPTURE(kind.name);
      CAPTURE(fidelity);
      check_slower_and_slower({"strategy=" + std::string(kind.name),
                               std::string("fidelity=") + fidelity, "cluster.nodes=4"});
    }
}

TEST_CASE("clock: slower and slower links never wrap a step's time, for every synchronization") {
  for (const SynchronizationKind& kind : synchronizations()) {
    CAPTURE(kind.name);
    const bool asynchronous =
        kind.name == std::string("async_ps") || kind.name == std::string("ssp");
    const std::string collective =
        asynchronous ? R"({"parameter_server": {"servers": 1}})" : R"({"algorithm": "ring"})";
    check_slower_and_slower({"strategy=sync_easgd", "collective=" + collective, "fidelity=message",
                             "synchronization=" + std::string(kind.name), "cluster.nodes=4"});
  }
}

TEST_CASE("clock: the mean of many iterations is that of one, or a refusal") {
  for (const char* const bandwidth : {"10 Gbps", "1 Mbps", "100 kbps"}) {
    const std::string nic =
        std::string("cluster.nic={\"latency\": \"1 us\", \"bandwidth\": \"") + bandwidth + "\"}";
    const std::vector<std::string> base = {"strategy=wfbp", "fidelity=closed_form", nic};
    const auto one = iteration(base);
    REQUIRE(one);
    for (const char* const iterations : {"1000", "1000000"}) {
      std::vector<std::string> many = base;
      many.push_back(std::string("iterations=") + iterations);
      if (const auto mean = iteration(many)) CHECK(*mean == *one);
    }
  }
}

TEST_CASE("clock: slower and slower links never wrap a collective's time") {
  for (const Fidelity fidelity : {Fidelity::closed_form, Fidelity::message})
    for (const int ranks : {2, 4, 16}) {
      Duration before;
      bool full = false;
      for (int decade = 0; decade <= 20; ++decade) {
        Cluster cluster{
            "",
            Network::uniform(ranks, {Duration::us(1), PerByte::ps(std::pow(10., decade)), {}}),
            1,
            {},
            {}};
        CollectiveQuestion question;
        question.algorithm = "ring";
        question.operation = Operation::allreduce;
        question.messages = {Bytes(1'000'000)};
        question.fidelity = fidelity;
        try {
          const auto answer = simulate_collective(question, cluster, "test");
          CHECK(!full);
          CHECK(answer.time > before);
          before = answer.time;
        } catch (const InputError& error) {
          CHECK(std::string(error.what()).find(refusal) != std::string::npos);
          full = true;
        }
      }
      CHECK(full);
    }
}
