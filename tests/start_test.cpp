// What a collective costs once, before its first message: `start` of a cluster.
#include <doctest/doctest.h>

#include "models/collective/registry.h"
#include "models/collective/simulate.h"
#include "sim/core/error.h"
#include "study/step/experiment.h"
#include "topologies/cluster_file.h"

namespace sgdsim {
namespace {

Json cluster_of(int nodes, const std::string& start) {
  Json json = {{"schema", "sgdsim/cluster/1"},
               {"shape", "single_switch"},
               {"nodes", nodes},
               {"nic", {{"latency", "5 us"}, {"bandwidth", "25 Gbit/s"}, {"reduce", "0.1 ns/B"}}}};
  if (!start.empty()) json["start"] = start;
  return json;
}

Cluster read(const Json& json) { return read_cluster(Value(json, "test", "")).cluster; }

}  // namespace

TEST_CASE("start: every collective is longer by it, once for each message, on every path") {
  int compared = 0;
  for (const Algorithm& algorithm : algorithms())
    for (const Operation operation : algorithm.operations)
      for (const int nodes : {2, 5, 8})
        for (const Fidelity fidelity : {Fidelity::closed_form, Fidelity::message})
          for (const bool shares_ports : {false, true})
            for (const std::size_t messages : {std::size_t{1}, std::size_t{3}}) {
              CollectiveQuestion question;
              // Which flows come first at one moment decides how shares are rounded.
              if (shares_ports && messages > 1) continue;
              question.algorithm = algorithm.name;
              question.operation = operation;
              question.messages.assign(messages, Bytes(100'003));
              question.options.shares_ports = shares_ports;
              question.fidelity = fidelity;
              CAPTURE(algorithm.name);
              CAPTURE(nodes);
              CAPTURE(messages);
              Duration without;
              try {
                without = simulate_collective(question, read(cluster_of(nodes, "")), "").time;
              } catch (const InputError&) {
                continue;
              }
              const Duration with =
                  simulate_collective(question, read(cluster_of(nodes, "7 us")), "").time;
              CHECK(with - without == Duration::us(7) * static_cast<int64_t>(messages));
              ++compared;
            }
  CHECK(compared > 200);
}

// Two messages of 1 MB one behind the other, the second ready while the first is under way.
TEST_CASE("start: every message of a step pays it, in both fidelities and as a schedule") {
  for (const char* fidelity : {"closed_form", "message"})
    for (const std::string channels : {"1", "2"}) {
      CAPTURE(fidelity);
      CAPTURE(channels);
      const auto time = [&](const std::string& start) {
        Json json = {
            {"schema", "sgdsim/experiment/1"},
            {"trace",
             {{"schema", "sgdsim/trace/1"},
              {"layers",
               {{{"name", "a"}, {"parameters", 250'000}, {"forward", "1 us"}, {"backward", "9 us"}},
                {{"name", "b"},
                 {"parameters", 250'000},
                 {"forward", "1 us"},
                 {"backward", "9 us"}}}}}},
            {"cluster", cluster_of(4, start)},
            {"collective", {{"algorithm", "ring"}}},
            {"strategy", "wfbp"},
            {"channels", std::stoi(channels)},
            {"fidelity", fidelity}};
        const Experiment experiment =
            read_experiment(resolve_experiment(Value(json, "test", ""), {}));
        return simulate_step(experiment.question()).iterations.front();
      };
      const Duration longer = time("100 us") - time("");
      // One after the other they pay twice; together the second's is beside the first's bytes.
      if (channels == "1") CHECK(longer == Duration::us(200));
      if (channels == "2") CHECK((longer >= Duration::us(90) && longer <= Duration::us(110)));
    }
}

TEST_CASE("start: what it cannot be") {
  for (const char* wrong : {"-1 us", "5", "2 s", "1 GB"}) {
    CAPTURE(wrong);
    CHECK_THROWS_AS(read(cluster_of(2, wrong)), InputError);
  }
  CHECK(read(cluster_of(2, "0 us")).network.start() == Duration());
}

}  // namespace sgdsim
