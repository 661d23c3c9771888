// Uplinks of fat trees: what nodes with many cards ask of them, by hand and at every fidelity.
#include <doctest/doctest.h>

#include "models/collective/options.h"
#include "models/collective/simulate.h"
#include "tests/cluster_cases.h"
#include "tests/run_program.h"
#include "topologies/cluster_file.h"

namespace sgdsim {
namespace {

// Cards of 25 Gbit/s, and uplinks of a rate: two nodes at an edge switch, two edge switches in a
// pod, and as many uplinks as nodes below each.
Cluster tree_of(int cards, const char* uplink, int nodes = 16) {
  return cluster_of({{"shape", "fat_tree"},
                     {"network", "nccl"},
                     {"k", 4},
                     {"nodes", nodes},
                     {"gpus_per_node", 8},
                     {"nics_per_node", cards},
                     {"gpu_link", {{"latency", "0 us"}, {"bandwidth", "2000 GBps"}}},
                     {"nic", {{"latency", "0 us"}, {"bandwidth", "25 Gbps"}}},
                     {"uplink", {{"latency", "0 us"}, {"bandwidth", uplink}}}});
}

double time_s(const Cluster& cluster, const char* algorithm, Operation operation,
              Fidelity fidelity) {
  CollectiveQuestion question;
  question.algorithm = algorithm;
  question.operation = operation;
  question.messages = {Bytes(64 << 20)};
  question.fidelity = fidelity;
  question.options.alpha = AlphaRule::wire;
  return simulate_collective(question, cluster, "").time.s();
}

}  // namespace

// All 16 GPUs of an edge switch send 112 of 128 blocks of 512 KiB to others, over two uplinks: as
// long with eight cards a node as with one, where the cards are as many as the uplinks.
TEST_CASE("fat trees: an all-to-all pays the uplinks of its edge switches") {
  for (const int cards : {1, 2, 8}) {
    CAPTURE(cards);
    const Cluster cluster = tree_of(cards, "25 Gbps");
    const double uplinks_s = 16. * 112 * (512 << 10) / (2 * 3.125e9);
    for (const Fidelity fidelity : {Fidelity::message, Fidelity::flow}) {
      const double took = time_s(cluster, "direct", Operation::alltoall, fidelity);
      CHECK(took >= 0.999 * uplinks_s);
      // Rounds in which nobody, or few, leave a switch are not shorter than NVLink makes them.
      if (cards > 1) CHECK(took == doctest::Approx(uplinks_s).epsilon(0.02));
    }
  }
}

// Every node sends 2 x 15/16 of the message by its cards, one node of an edge switch to the next
// switch: four cards of the rate of the two uplinks of both, or one uplink of an eighth.
TEST_CASE("fat trees: rings of nodes pay the uplinks that they leave by") {
  for (const auto& [cards, uplink] : {std::pair(8, "25 Gbps"), std::pair(1, "3.125 Gbps")}) {
    const int number = cards;
    CAPTURE(number);
    const Cluster cluster = tree_of(cards, uplink);
    const double message_s =
        time_s(cluster, "hierarchical", Operation::allreduce, Fidelity::message);
    CHECK(message_s ==
          doctest::Approx(time_s(cluster, "hierarchical", Operation::allreduce, Fidelity::flow))
              .epsilon(0.02));
  }
}

// Experts of 16 GPUs: gradients go in groups of every sixteenth GPU, so that both nodes of an edge
// switch leave it at once.
TEST_CASE("fat trees: groups that skip nodes leave their switches at once") {
  const Json tree = {{"shape", "fat_tree"},
                     {"network", "nccl"},
                     {"k", 4},
                     {"nodes", 16},
                     {"gpus_per_node", 8},
                     {"nics_per_node", 8},
                     {"gpu_link", {{"latency", "0.3 us"}, {"bandwidth", "200 GBps"}}},
                     {"nic", {{"latency", "0.4 us"}, {"bandwidth", "25 Gbps"}}},
                     {"uplink", {{"latency", "0.2 us"}, {"bandwidth", "25 Gbps"}}}};
  const Temporary file(Temporary::Kind::file, tree.dump());
  const auto step_us = [&](const char* fidelity) {
    const Ran ran = call_sgdsim({"layout", "qwen3_30b_a3b", "-c", file.name(), "--layout",
                                 "dp128 ep16 zero1 overlap=off", "--memory", "5000GB", "--sequence",
                                 "512", "--fidelity", fidelity, "--format", "json"});
    CAPTURE(ran.log);
    REQUIRE(ran.exit_code == 0);
    return Json::parse(ran.out)["layouts"][0]["step_us"].get<double>();
  };
  CHECK(step_us("closed_form") == doctest::Approx(step_us("flow")).epsilon(0.05));
}

// As fast as the cards, and nothing is shared: the network is what it was without the rule.
TEST_CASE("fat trees: uplinks that block nothing share nothing") {
  CHECK(tree_of(1, "25 Gbps").network.shared_ways().size() == 1);  // the card of eight GPUs
  CHECK(tree_of(8, "200 Gbps").network.shared_ways().empty());
  CHECK(tree_of(8, "199 Gbps").network.shared_ways().size() == 2);
  CHECK(tree_of(8, "199 Gbps", 4).network.shared_ways().size() == 1);  // one pod
  CHECK(tree_of(8, "199 Gbps", 2).network.shared_ways().empty());      // one edge switch
}

}  // namespace sgdsim
