// Words that say what is so anyway change no answer.
#include <doctest/doctest.h>
#include <string>
#include <vector>

#include "tests/command_words.h"
#include "tests/json_of_run.h"
#include "tests/run_program.h"

namespace sgdsim::neutral_words {
namespace {

using Words = std::vector<std::string>;

double iteration_us(Words words) {
  words.insert(words.begin(), "run");
  words.insert(words.end(), {"--format", "json"});
  return json_of_run(words)["metrics"]["iteration_us"]["mean"];
}

}  // namespace

// Messages of the last iteration meet those of the next, whatever else is on the wires: workers
// that wait for servers on some of them do not end together. In the long run they do not either.
// Packets wait for whole packets before them: iterations differ by the time of some packets, far
// below a thousandth of an iteration.
TEST_CASE("neutral: what comes behind the last iteration is there with traffic and as packets") {
  const std::string servers =
      R"(collective={"parameter_server": {"servers": 5, "placement": "co_located"}})";
  const std::string nothing =
      R"({"changes": [{"at": "1 ms", "vertex": "switch", "bandwidth": 1}]})";
  for (const Words& more : {Words{}, Words{"--set", "synchronization=pipe_sgd"}}) {
    const Words words = with({"resnet50_v100", "-c", "10gbe_16", "--set", "cluster.nodes=6",
                              "--set", "strategy=sync_easgd", "--set", servers},
                             more);
    const Words flow = with(words, {"--fidelity", "flow"});
    CHECK(iteration_us(flow) == iteration_us(with(flow, {"--traffic", nothing})));
    const Words packet = with(words, {"--fidelity", "packet"});
    CHECK(
        iteration_us(packet) ==
        doctest::Approx(iteration_us(with(packet, {"--set", "iterations=8", "--set", "warm_up=4"})))
            .epsilon(0.001));
  }
}

TEST_CASE("neutral: a line of `ports` that says what all cards are, or makes one faster") {
  for (const char* algorithm : {"recursive_doubling", "halving_doubling", "ring", "direct"})
    for (const char* ports : {R"(ports=[{"node": 1, "bandwidth": "10 Gbps"}])",
                              R"(ports=[{"node": 1, "bandwidth": "20 Gbps"}])"}) {
      CAPTURE(algorithm);
      CAPTURE(ports);
      const Words words = {"collective",  "-a",       algorithm, "-n",      "1MB",
                           "-c",          "10gbe_16", "--set",   "nodes=7", "--set",
                           "network=tcp", "--format", "json"};
      CHECK(json_of_run(with(words, {"--set", ports}))["time_ps"] == json_of_run(words)["time_ps"]);
    }
}

// 100 KB among 6: direct has two start-ups in flight, a ring ten.
TEST_CASE("neutral: auto in a step takes what auto takes in a collective") {
  const Temporary file(Temporary::Kind::file, R"({"schema": "sgdsim/experiment/1",
    "trace": {"schema": "sgdsim/trace/1", "name": "t", "layers": [
      {"name": "a", "parameters": 25000, "backward": "1 ms", "forward": "1 ms"}]},
    "cluster": "10gbe_16", "strategy": "sync_easgd"})");
  for (const char* network : {"tcp", "gloo", "mpi"})
    for (const char* fidelity : {"closed_form", "message"}) {
      CAPTURE(network);
      CAPTURE(fidelity);
      const Words words = {file.name(),
                           "--set",
                           "cluster.nodes=6",
                           "--set",
                           std::string("cluster.network=") + network,
                           "--fidelity",
                           fidelity};
      const auto exposed_us = [&](const std::string& algorithm) {
        return iteration_us(with(words, {"--set", "collective.algorithm=" + algorithm})) - 2000;
      };
      const Json alone = json_of_run(
          {"collective", "-a", "auto", "-n", "100KB", "-c", "10gbe_16", "--set", "nodes=6", "--set",
           std::string("network=") + network, "--fidelity", fidelity, "--format", "json"});
      CHECK(alone["algorithm"] == "direct");
      CHECK(exposed_us("auto") == doctest::Approx(alone["time_us"].get<double>()));
      CHECK(exposed_us("auto") == doctest::Approx(exposed_us("direct")));
      CHECK(exposed_us("auto") < exposed_us("ring") / 2);
    }
}

}  // namespace sgdsim::neutral_words
