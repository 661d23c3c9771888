// Rails: which way messages go to another rail, and what an all-to-all then takes, by hand.
#include <algorithm>
#include <doctest/doctest.h>

#include "models/collective/options.h"
#include "models/collective/simulate.h"
#include "tests/cluster_cases.h"
#include "tests/run_program.h"
#include "topologies/cluster_file.h"

namespace sgdsim {
namespace {

// A card sends a byte in 20 ps, everything inside a node a hundred times as fast; nothing takes
// time to begin.
struct RailRow {
  const char* reason;
  int nodes;
  int gpus;
  int per_pod;
  int spines;
  double oversubscription;
  bool pxn;
};

Json json_of(const RailRow& fabric) {
  Json json = {{"shape", "rails"},
               {"network", "nccl"},
               {"nodes", fabric.nodes},
               {"gpus_per_node", fabric.gpus},
               {"gpu_link", {{"latency", "0 us"}, {"per_byte", "0.2 ps/B"}}},
               {"pcie", {{"latency", "0 us"}, {"per_byte", "0.2 ps/B"}}},
               {"nic", {{"latency", "0 us"}, {"per_byte", "20 ps/B"}}}};
  if (fabric.spines == 0) return json;
  json["nodes_per_pod"] = fabric.per_pod;
  json["spines"] = fabric.spines;
  json["oversubscription"] = fabric.oversubscription;
  json["pxn"] = fabric.pxn;
  return json;
}

Duration time_on(const RailRow& fabric, const char* algorithm, Operation operation, int64_t size_B,
                 Fidelity fidelity, const char* routing = "") {
  const Cluster cluster = cluster_of(json_of(fabric));
  CollectiveQuestion question;
  question.algorithm = algorithm;
  question.operation = operation;
  question.messages = {Bytes(size_B)};
  question.fidelity = fidelity;
  question.options.alpha = AlphaRule::wire;
  if (*routing != '\0') set_option(question.options, "routing", routing, "test");
  return simulate_collective(question, cluster, "").time;
}

// What all send to all others, b bytes each, at the busiest card or uplink: a card sends what its
// GPU sends, or with PXN what all GPUs of the node send to its rail. The uplinks of a rail switch
// carry P/r cards, and what its P nodes send to other pods; without PXN also what they send to
// other rails of their own.
double all_to_all_ps(const RailRow& fabric, double block_B) {
  const double card = fabric.gpus * (fabric.nodes - 1);
  const double to_pods = fabric.gpus * (fabric.nodes - fabric.per_pod);
  const double to_rails = fabric.pxn ? 0 : (fabric.gpus - 1) * (fabric.per_pod - 1);
  const double uplinks = fabric.spines == 0 ? 0 : fabric.oversubscription * (to_pods + to_rails);
  return 20 * block_B * std::max(card, uplinks);
}

}  // namespace

TEST_CASE("rails: an all-to-all takes what its busiest card or uplink carries") {
  const std::vector<RailRow> rows = {
      {"rail-only: 2 x 3 messages a card", 4, 2, 4, 0, 1, true},
      {"rail-only, one GPU a node", 5, 1, 5, 0, 1, true},
      {"two pods, nothing oversubscribed: cards, 6 messages", 4, 2, 2, 2, 1, true},
      {"the same without PXN: cards, 6; uplinks have 4 + 1", 4, 2, 2, 2, 1, false},
      {"4:1 with PXN: uplinks, 4 x 4", 4, 2, 2, 2, 4, true},
      {"4:1 without PXN: uplinks, 4 x 5", 4, 2, 2, 2, 4, false},
      {"one pod with PXN: spines are idle, however few", 4, 4, 4, 2, 10, true},
      {"one pod without PXN: uplinks, 10 x 9", 4, 4, 4, 2, 10, false},
      {"three pods of four, 2:1", 12, 2, 4, 4, 2, true},
      {"three pods of four, 2:1, without PXN", 12, 2, 4, 4, 2, false},
  };
  for (const RailRow& row : rows) {
    CAPTURE(row.reason);
    const int workers = row.nodes * row.gpus;
    const double expected_ps = all_to_all_ps(row, 1'000'000);
    for (const char* routing : {"by_destination", "split"}) {
      CAPTURE(routing);
      const Duration took = time_on(row, "direct", Operation::alltoall,
                                    int64_t{1'000'000} * workers, Fidelity::flow, routing);
      CHECK(static_cast<double>(took.ps()) == doctest::Approx(expected_ps).epsilon(1e-9));
    }
  }
}

// Among 8 GPUs of 4 nodes in 2 pods: neighbours in the node, then in the pod, then in the other
// pod, where two messages share an uplink that carries 2/r cards.
TEST_CASE("rails: at fidelity message, uplinks are shared round by round") {
  for (const bool pxn : {true, false}) {
    const RailRow fabric{"", 4, 2, 2, 1, 4, pxn};
    const Duration doubling =
        time_on(fabric, "recursive_doubling", Operation::allreduce, 1'000'000, Fidelity::message);
    CHECK(doubling.ps() == 1'000'000 * 2 / 10 + 1'000'000 * 20 + 1'000'000 * 20 * 4);
    // Around a ring, GPU 1 of a node sends to GPU 0 of the next one. With PXN one message leaves a
    // pod, by an uplink of half a card; without, that within the pod takes this uplink, too.
    const Duration ring =
        time_on(fabric, "ring", Operation::allreduce, 8'000'000, Fidelity::message);
    CHECK(ring.ps() == 14 * 1'000'000 * 20 * (pxn ? 2 : 4));
    // Nothing else is on these wires.
    const Duration on_wires = time_on(fabric, "recursive_doubling", Operation::allreduce, 1'000'000,
                                      Fidelity::flow, "split");
    CHECK(on_wires == doubling);
  }
}

TEST_CASE("rails: messages to another rail go over NVLink first, or over a spine") {
  const auto names = [](const RailRow& fabric, int from, int to) {
    const Graph graph = cluster_from(json_of(fabric).dump()).graph();
    std::string text;
    for (const int vertex : graph.route(from, to))
      text += (text.empty() ? "" : " ") + graph.vertices()[static_cast<std::size_t>(vertex)].name;
    return text;
  };
  const RailRow relayed{"", 4, 2, 2, 1, 1, true};
  const RailRow direct{"", 4, 2, 2, 1, 1, false};
  CHECK(names(relayed, 0, 3) ==
        "node0/gpu0 node0/gpu0/nvlink node0/switch node0/gpu1/nvlink node0/gpu1/pcie node0/nic1 "
        "pod0/rail1 node1/nic1 node1/gpu1/pcie node1/gpu1");
  CHECK(names(relayed, 0, 7) ==
        "node0/gpu0 node0/gpu0/nvlink node0/switch node0/gpu1/nvlink node0/gpu1/pcie node0/nic1 "
        "pod0/rail1 spine0/rail1 pod1/rail1 node3/nic1 node3/gpu1/pcie node3/gpu1");
  CHECK(names(relayed, 0, 2) ==
        "node0/gpu0 node0/gpu0/nvlink node0/gpu0/pcie node0/nic0 pod0/rail0 node1/nic0 "
        "node1/gpu0/pcie node1/gpu0");
  CHECK(names(direct, 0, 3) ==
        "node0/gpu0 node0/nic0 pod0/rail0 spine0 pod0/rail1 node1/nic1 node1/gpu1");
  CHECK(names(direct, 0, 1) == "node0/gpu0 node0/switch node0/gpu1");
}

TEST_CASE("rails: further nodes leave those that there are as they are") {
  const Cluster cluster = cluster_of(json_of({"", 4, 2, 2, 2, 4, true}));
  REQUIRE(cluster.with_more);
  const Cluster larger = cluster.with_more(3);
  CHECK(larger.network.workers() == 14);
  for (int from = 0; from < 8; ++from)
    for (int to = 0; to < 8; ++to)
      if (from != to) CHECK(larger.network.between(from, to) == cluster.network.between(from, to));
  // A part of a pod, as a small job on a large cluster has it.
  CHECK(cluster.network.first(3).workers() == 3);
}

// Without PXN every message of a ring through nodes changes rails, so that 16 cards meet at the
// uplinks of one rail: eight times too few for them.
TEST_CASE("rails: rings of layouts pay the uplinks that they cross") {
  Json json = json_of({"no PXN", 16, 4, 16, 1, 8, false});
  for (const auto& [pxn, per_pod] :
       {std::pair(false, 16), std::pair(false, 4), std::pair(true, 4)}) {
    const std::string what =
        std::string(pxn ? "PXN" : "no PXN") + ", pods of " + std::to_string(per_pod);
    CAPTURE(what);
    json["pxn"] = pxn;
    json["nodes_per_pod"] = per_pod;
    const Temporary file(Temporary::Kind::file, json.dump());
    for (const char* layout : {"dp64 zero0 overlap=off", "tp4 dp16 zero0 overlap=off sp"}) {
      CAPTURE(layout);
      const auto step_us = [&](const char* fidelity) {
        const Ran ran = call_sgdsim({"layout", "llama3.1_8b", "-c", file.name(), "--gpus", "64",
                                     "--layout", layout, "--memory", "5000GB", "--sequence", "2048",
                                     "--fidelity", fidelity, "--format", "json"});
        CAPTURE(ran.log);
        REQUIRE(ran.exit_code == 0);
        return Json::parse(ran.out)["layouts"][0]["step_us"].get<double>();
      };
      const double flow_us = step_us("flow");
      CHECK(step_us("message") == doctest::Approx(flow_us).epsilon(2e-3));
      CHECK(step_us("closed_form") == doctest::Approx(flow_us).epsilon(2e-3));
    }
  }
}

}  // namespace sgdsim
