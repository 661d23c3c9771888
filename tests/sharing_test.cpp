// Cards and uplinks that several workers share: each expected time is the drawing beside it.
#include "sim/play/sharing.h"

#include <doctest/doctest.h>

#include "models/collective/simulate.h"
#include "topologies/cluster_file.h"

using namespace sgdsim;

namespace {

Cluster cluster_of(const std::string& text) {
  return read_cluster(Document::parse(text, "test").root()).cluster;
}

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
    const Cluster cluster = cluster_of(row.cluster);
    for (const PathChoice path : {PathChoice::fastest, PathChoice::events})
      CHECK(time_of(cluster, row.algorithm, row.operation, 1'000'000, Fidelity::message, path) ==
            Duration::nearest_ps(row.time_us * 1e6));
  }
}

TEST_CASE("sharing: the closed form charges the busiest round") {
  for (const int nics : {1, 2}) {
    const Cluster cluster = cluster_of(two_by_two(nics));
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
    CHECK(time_of(cluster_of(leaves(r)), "recursive_doubling", Operation::allreduce, 1'000'000) ==
          expected);
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
  CHECK(cluster_of(two_by_two(2)).network.shared_ways().empty());
  CHECK(cluster_of(two_by_two(1)).network.shared_ways().size() == 1);
  CHECK(cluster_of(two_by_two(1)).network.first(2).shared_ways().empty());
}
