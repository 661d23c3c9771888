// Cards and uplinks that several workers share: each expected time is the drawing beside it.
#include "sim/play/sharing.h"

#include <cmath>
#include <doctest/doctest.h>

#include "models/collective/simulate.h"
#include "tests/cluster_cases.h"
#include "tests/run_program.h"
#include "topologies/cluster_file.h"

using namespace sgdsim;

namespace {

// Two nodes of two GPUs: 1 us and 1 ns/B inside (two halves), 10 us and 2 ns/B between the nodes.
std::string two_by_two(int nics) {
  return R"({"shape": "nvlink_box", "nodes": 2, "gpus_per_node": 2, "nics_per_node": )" +
         std::to_string(nics) +
         R"(, "gpu_link": {"latency": "0.5 us", "per_byte": "1 ns/B"},
            "pcie": {"latency": "0 us", "per_byte": "0.5 ns/B"},
            "nic": {"latency": "5 us", "per_byte": "2 ns/B"}})";
}

Duration time_of(const Cluster& cluster, const char* algorithm, Operation operation, int64_t size_B,
                 Fidelity fidelity = Fidelity::message, PathChoice path = PathChoice::fastest) {
  CollectiveQuestion question;
  question.algorithm = algorithm;
  question.operation = operation;
  question.messages = {Bytes(size_B)};
  question.fidelity = fidelity;
  question.path = path;
  return simulate_collective(question, cluster, "test").time;
}

struct Row {
  const char* reason;
  std::string cluster;
  const char* algorithm;
  Operation operation;
  double time_us;  // of 1 MB
};

const std::vector<Row> rows = {
    // Halves inside, then a quarter twice between the nodes: with one card both lanes share it.
    {"hierarchical, a card each", two_by_two(2), "hierarchical", Operation::allreduce,
     2 * (1 + 500) + 2 * (10 + 250 * 2.)},
    {"hierarchical, one card", two_by_two(1), "hierarchical", Operation::allreduce,
     2 * (1 + 500) + 2 * (10 + 250 * 2. * 2)},
    // Everything inside, then everything between: two messages leave each node.
    {"recursive doubling, a card each", two_by_two(2), "recursive_doubling", Operation::allreduce,
     (1 + 1000) + (10 + 1000 * 2.)},
    {"recursive doubling, one card", two_by_two(1), "recursive_doubling", Operation::allreduce,
     (1 + 1000) + (10 + 1000 * 2. * 2)},
    // One message leaves each node in every round, also with one card.
    {"ring, one card", two_by_two(1), "ring", Operation::allreduce, 6 * (10 + 250 * 2.)},
    // Quarters to the neighbours 1, 2 and 3 places on: one, two and one of them leave a node. In
    // the
    // first and third round the GPU that sends inside waits for what it receives from outside.
    {"all-to-all, one card", two_by_two(1), "direct", Operation::alltoall,
     (10 + 500.) + (10 + 500. * 2) + (10 + 500.)},
    {"all-to-all, a card each", two_by_two(2), "direct", Operation::alltoall, 3 * (10 + 500.)},
};

// Two leaves of two nodes: 2 ns/B at a node, 1 us per traversal; one spine.
std::string leaves(double oversubscription) {
  return R"({"shape": "leaf_spine", "nodes": 4, "nodes_per_leaf": 2, "spines": 1, "oversubscription": )" +
         std::to_string(oversubscription) + R"(,
            "nic": {"latency": "1 us", "per_byte": "2 ns/B"}, "uplink": {"latency": "1 us"}})";
}

}  // namespace

TEST_CASE("sharing: messages of a round share cards, on both paths") {
  for (const Row& row : rows) {
    INFO(row.reason);
    const Cluster cluster = cluster_from(row.cluster).cluster;
    for (const PathChoice path : {PathChoice::fastest, PathChoice::events})
      CHECK(time_of(cluster, row.algorithm, row.operation, 1'000'000, Fidelity::message, path) ==
            Duration::nearest_ps(row.time_us * 1e6));
  }
}

TEST_CASE("sharing: the closed form charges the busiest round") {
  for (const int nics : {1, 2}) {
    const Cluster cluster = cluster_from(two_by_two(nics)).cluster;
    for (const char* const algorithm : {"hierarchical", "ring"})
      CHECK(time_of(cluster, algorithm, Operation::allreduce, 1'000'000, Fidelity::closed_form) ==
            time_of(cluster, algorithm, Operation::allreduce, 1'000'000));
    // Every message as the worst: twice the round between the nodes.
    CHECK(time_of(cluster, "recursive_doubling", Operation::allreduce, 1'000'000,
                  Fidelity::closed_form) == Duration::us(2 * (10 + 2000 * (nics == 1 ? 2 : 1))));
  }
}

TEST_CASE("sharing: an oversubscribed leaf carries a part of what its nodes send") {
  // Round one under the leaf, 2 us and 2 ns/B; round two over the spine, 4 us: two messages leave a
  // leaf, whose uplink carries 1/r of what two nodes can send. A lone message has no more than a
  // port.
  for (const double r : {0.5, 1., 2., 4., 16.}) {
    CAPTURE(r);
    const Duration expected =
        Duration::us(2 + 2000) + Duration::nearest_ps((4 + 2000 * std::max(1., r)) * 1e6);
    CHECK(time_of(cluster_from(leaves(r)).cluster, "recursive_doubling", Operation::allreduce,
                  1'000'000) == expected);
  }
}

TEST_CASE("sharing: no collective moves more over a node's card than the card can carry") {
  // 64 GPUs behind eight cards of 25 Gb/s at 90 %: all-to-all sends 56 of 64 parts of eight GPUs
  // over each card, the hierarchical all-reduce 2 * 7 / 8 of the message.
  const std::string file =
      std::string(SGDSIM_SOURCE_DIR) + "/topologies/data/cloud_v100_25gbe.json";
  const Cluster cluster = read_cluster_file(file).cluster;
  const double card_Bps = 25e9 / 8 * 0.9;
  const int64_t size_B = 100'000'000;
  CHECK(time_of(cluster, "hierarchical", Operation::allreduce, size_B).s() >=
        size_B * 2 * 7. / 8 / card_Bps);
  CHECK(time_of(cluster, "direct", Operation::alltoall, size_B).s() >=
        size_B * 8 * 56. / 64 / card_Bps);
}

TEST_CASE("sharing: a network of which every worker has its own way has none") {
  CHECK(cluster_from(two_by_two(2)).cluster.network.shared_ways().empty());
  CHECK(cluster_from(two_by_two(1)).cluster.network.shared_ways().size() == 1);
  CHECK(cluster_from(two_by_two(1)).cluster.network.first(2).shared_ways().empty());
}

// Four nodes, 2 us and 1 ns/B between any two; of n messages at once each has a part of the
// bandwidth: 1 alone, a half of four, and 2^-1/2 of two, which is half-way in logarithms.
const std::string crowded = R"({"shape": "single_switch", "nodes": 4, "nic": {"latency": "1 us",
    "per_byte": "1 ns/B", "efficiency": [{"senders": 4, "efficiency": 0.5}]}})";

TEST_CASE("crowding: messages of a round slow each other down") {
  struct CrowdedRow {
    const char* reason;
    const char* algorithm;
    Operation operation;
    double time_us, closed_form_us;  // of 1 MB
  };
  const double two = 1000 * std::sqrt(2.);
  for (const CrowdedRow& row : std::vector<CrowdedRow>{
           {"four send in every round", "ring", Operation::allreduce, 6 * (2 + 500), 6 * (2 + 500)},
           {"four send twice", "recursive_doubling", Operation::allreduce, 2 * (2 + 2000),
            2 * (2 + 2000)},
           {"one, then two; the formula charges both as the busiest", "mst", Operation::broadcast,
            (2 + 1000) + (2 + two), 2 * (2 + two)}}) {
    INFO(row.reason);
    const Cluster cluster = cluster_from(crowded).cluster;
    for (const PathChoice path : {PathChoice::fastest, PathChoice::events})
      CHECK(time_of(cluster, row.algorithm, row.operation, 1'000'000, Fidelity::message, path) ==
            Duration::nearest_ps(row.time_us * 1e6));
    // A formula rounds once, or once a round.
    const Duration formula =
        time_of(cluster, row.algorithm, row.operation, 1'000'000, Fidelity::closed_form);
    CHECK(formula.us() == doctest::Approx(row.closed_form_us).epsilon(1e-9));
  }
}

TEST_CASE("crowding: the curve between its points, before the first and beyond the last") {
  const Crowding two_points{1, {{4, 0.5}, {16, 0.125}}};
  CHECK(two_points.efficiency(1) == 1);
  CHECK(two_points.efficiency(2) == doctest::Approx(std::sqrt(0.5)));
  CHECK(two_points.efficiency(4) == 0.5);
  CHECK(two_points.efficiency(8) == doctest::Approx(0.25));
  CHECK(two_points.efficiency(16) == 0.125);
  CHECK(two_points.efficiency(1 << 20) == 0.125);
  const Crowding from_one{1, {{1, 0.8}, {2, 0.4}}};
  CHECK(from_one.efficiency(1) == 0.8);
  CHECK(from_one.efficiency(2) == 0.4);
}

TEST_CASE("crowding: messages inside a node do not count") {
  // Of the four GPUs two pairs exchange inside their nodes; then four messages cross.
  const Cluster cluster = cluster_from(R"({"shape": "nvlink_box", "nodes": 2, "gpus_per_node": 2,
      "nics_per_node": 2, "gpu_link": {"latency": "0.5 us", "per_byte": "1 ns/B"},
      "pcie": {"latency": "0 us", "per_byte": "0.5 ns/B"},
      "nic": {"latency": "5 us", "per_byte": "2 ns/B",
              "efficiency": [{"senders": 4, "efficiency": 0.25}]}})")
                              .cluster;
  CHECK(time_of(cluster, "recursive_doubling", Operation::allreduce, 1'000'000) ==
        Duration::us(1 + 1000 + 10 + 2000 * 4));
}

TEST_CASE("crowding: what does not know it says so, and a curve that ends is named") {
  const auto cluster = [](int nodes) {
    Json json = Json::parse(crowded);
    json["nodes"] = nodes;
    return json;
  };
  CHECK(cluster_from(cluster(4).dump()).cluster.notes.empty());
  REQUIRE(cluster_from(cluster(5).dump()).cluster.notes.size() == 1);
  CHECK(cluster_from(cluster(5).dump()).cluster.notes.front() ==
        "the efficiency over senders is known up to 4 senders, and 5 nodes may send at once: "
        "beyond, it is that of the last");
  const Temporary file(Temporary::Kind::file, crowded);
  const Temporary schedule(
      Temporary::Kind::file,
      "num_ranks 2\nrank 0 {\nl1: send 8b to 1 tag 0\n}\nrank 1 {\nl1: recv 8b "
      "from 0 tag 0\n}\n");
  const std::vector<std::vector<std::string>> refused = {
      {"collective", "-a", "ring", "-n", "1 MB", "-c", file.name(), "--fidelity", "flow"},
      {"collective", "-a", "ring", "-n", "1 MB", "-c", file.name(), "--option", "ports=shared"},
      {"run", "traces/data/alexnet_p102.json", "-c", file.name(), "--set",
       "collective=parameter_server"},
      {"replay", schedule.name(), "-c", file.name()},
      {"layout", "llama3.1_8b", "-c", file.name(), "--gpus", "4"}};
  for (const auto& words : refused) {
    const Ran ran = run_sgdsim(words);
    CAPTURE(ran.log);
    CHECK(ran.exit_code == 2);
    CHECK(ran.log.find("an efficiency over senders holds for collectives") != std::string::npos);
  }
}
