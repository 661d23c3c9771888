// Messages that go when a coordinator says so: all workers start together, and who was ready before
// has waited for the others.
#include <doctest/doctest.h>
#include <string>

#include "sim/core/json.h"
#include "tests/run_program.h"

namespace sgdsim {
namespace {

// A layer of 12 MB at 1 GB/s, forward 10 and backward 20 ms.
const char* const one_layer = R"({"schema": "sgdsim/experiment/1",
    "trace": {"schema": "sgdsim/trace/1", "name": "one", "batch": 10, "layers": [
      {"name": "a", "gradient": "12 MB", "parameters": 3000000, "forward": "10 ms",
       "backward": "20 ms"}]},
    "cluster": {"schema": "sgdsim/cluster/1", "shape": "single_switch", "nodes": 4,
                "nic": {"latency": "0 us", "bandwidth": "8 Gbps"}},
    "collective": "ring", "strategy": "horovod"})";

// 4, 8 and 12 MB: in a ring of four 6, 12 and 18 ms.
const char* const three_layers = R"({"schema": "sgdsim/experiment/1",
    "trace": {"schema": "sgdsim/trace/1", "name": "three", "batch": 10, "layers": [
      {"name": "a", "gradient": "4 MB", "parameters": 1000000, "forward": "10 ms",
       "backward": "20 ms"},
      {"name": "b", "gradient": "8 MB", "parameters": 2000000, "forward": "10 ms",
       "backward": "20 ms"},
      {"name": "c", "gradient": "12 MB", "parameters": 3000000, "forward": "10 ms",
       "backward": "20 ms"}]},
    "cluster": {"schema": "sgdsim/cluster/1", "shape": "single_switch", "nodes": 4,
                "nic": {"latency": "0 us", "bandwidth": "8 Gbps"}},
    "collective": "ring", "strategy": "horovod",
    "workers": {"slow": [{"worker": 1, "factor": 2}]}})";

Json metrics_of(const char* experiment, std::vector<std::string> settings) {
  std::vector<std::string> words = {"run", experiment, "--format", "json"};
  for (std::string& setting : settings) {
    words.emplace_back("--set");
    words.push_back(std::move(setting));
  }
  const Ran ran = call_sgdsim(words);
  REQUIRE_MESSAGE(ran.exit_code == 0, ran.log);
  return Json::parse(ran.out)["metrics"];
}

double mean_ms(const Json& metrics) { return metrics["iteration_us"]["mean"].get<double>() / 1000; }

// All push to one server at once and pull from it: 12 ms for each worker, each way.
TEST_CASE("agreed messages: workers push together, at every fidelity") {
  for (const int workers : {2, 4, 8})
    for (const char* fidelity : {"closed_form", "message", "flow"}) {
      CAPTURE(workers);
      CAPTURE(std::string(fidelity));
      CHECK(mean_ms(metrics_of(
                one_layer,
                {"cluster.nodes=" + std::to_string(workers),
                 R"(collective={"parameter_server": {"servers": 1, "placement": "dedicated"}})",
                 "fidelity=" + std::string(fidelity)})) ==
            doctest::Approx(30 + 2 * workers * 12).epsilon(1e-6));
    }
}

// Worker 1 has gradients at 100, 140 and 180 ms, the others at 50, 70 and 90: then those have
// computed, and wait until 100, from 118 to 140, and from 152 to 180. The last message takes 6 ms.
TEST_CASE("agreed messages: who is ready waits for who is not") {
  for (const char* fidelity : {"message", "flow"}) {
    CAPTURE(std::string(fidelity));
    const Json metrics = metrics_of(three_layers, {"fidelity=" + std::string(fidelity)});
    CHECK(mean_ms(metrics) == doctest::Approx(186).epsilon(1e-6));
    CHECK(metrics["waiting_us"].get<double>() ==
          doctest::Approx(3. / 4 * (10 + 22 + 28) * 1000).epsilon(1e-6));
  }
}

// Nobody waits for others where all are alike, though messages wait for the coordinator's cycle.
TEST_CASE("agreed messages: alike workers do not wait for each other") {
  const Json metrics =
      metrics_of(three_layers, {"workers={}", R"(strategy={"name": "horovod", "cycle": "7 ms"})"});
  CHECK(metrics["waiting_us"].get<double>() == 0);
  CHECK(metrics["idle_us"].get<double>() > 0);
}

// What comes of priorities adds up, and waits no less than without.
TEST_CASE("agreed messages: by priority, who is ready waits for who is not") {
  for (const char* strategy : {"p3", "bytescheduler"}) {
    CAPTURE(std::string(strategy));
    const Json metrics = metrics_of(three_layers, {"strategy=" + std::string(strategy)});
    const auto us = [&](const char* name) { return metrics[name].get<double>(); };
    CHECK(us("waiting_us") > 0);
    CHECK(us("comm_exposed_us") == doctest::Approx(us("comm_total_us") - us("comm_overlapped_us") +
                                                   us("waiting_us") + us("idle_us"))
                                       .epsilon(1e-6));
  }
}

}  // namespace
}  // namespace sgdsim
