// Collectives of Chakra traces by the nodes, the network and the grid of their cluster.
#include <algorithm>
#include <doctest/doctest.h>

#include "sim/core/json.h"
#include "tests/chakra_cases.h"

namespace sgdsim {

using namespace chakra_cases;

// Two nodes of four, 0.01 ns/B inside and 1 ns/B across, no latency. 4 MB among k ranks of each
// node: k - 1 rounds of 4/k MB inside, twice; and across twice half of such a shard.
TEST_CASE("chakra replay: hierarchical groups go by the nodes of their ranks") {
  const std::string cluster =
      R"({"shape": "nvlink_box", "nodes": 2, "gpus_per_node": 4, "nics_per_node": 4,)"
      R"( "gpu_link": {"latency": "0 us", "per_byte": "0.01 ns/B"},)"
      R"( "nic": {"latency": "0 us", "per_byte": "1 ns/B"}, "network": "paper"})";
  const auto ran_by = [&](const std::vector<uint32_t>& ranks, const std::string& algorithm) {
    const std::string group = ranks.empty() ? "" : "g";
    std::vector<Nodes> nodes(8);
    for (uint32_t rank = 0; rank < 8; ++rank)
      if (ranks.empty() || std::find(ranks.begin(), ranks.end(), rank) != ranks.end())
        nodes[rank] = {exchanging(0, all_reduce, 4'000'000, {}, group)};
      else
        nodes[rank] = {computing(0, 1)};
    const Temporary groups(Temporary::Kind::file, Json{{"g", ranks}}.dump());
    std::vector<std::string> more = {"-c", cluster, "-a", algorithm};
    if (!ranks.empty()) more.insert(more.end(), {"--groups", groups.name()});
    return TraceFiles(nodes).run(more);
  };
  struct Row {
    std::vector<uint32_t> ranks;
    int64_t took_us;
  };
  for (const Row& row : {Row{{}, 2 * 30 + 1000},
                         {{0, 1, 2, 3, 4, 5, 6, 7}, 2 * 30 + 1000},
                         {{4, 5, 6, 7, 0, 1, 2, 3}, 2 * 30 + 1000},
                         {{1, 2, 5, 6}, 2 * 20 + 2000},
                         {{0, 1, 3}, 4 * 13'333'340 / 1'000'000},
                         {{1, 5}, 4000}}) {
    const Ran ran = ran_by(row.ranks, "hierarchical");
    REQUIRE(ran.exit_code == 0);
    CHECK(Json::parse(ran.out)["makespan_ps"].get<int64_t>() / 1'000'000 == row.took_us);
    if (row.ranks.size() % 4 == 0)
      CHECK(Json::parse(ran_by(row.ranks, "auto").out)["makespan_ps"] ==
            Json::parse(ran.out)["makespan_ps"]);
  }
  for (const std::vector<uint32_t>& uneven : {std::vector<uint32_t>{0, 1, 2, 4}, {0, 4, 1, 5}}) {
    const Ran ran = ran_by(uneven, "hierarchical");
    CHECK(ran.exit_code == 2);
    CHECK(ran.log.find("as many of them each") != std::string::npos);
  }
}

// Four ranks, 10 us and 1 ns/B: three chunks of 1 MB to and from all, and once 10 us.
TEST_CASE("chakra replay: algorithms send as the network of the cluster has it") {
  const TraceFiles files(
      std::vector<Nodes>(4, {exchanging(0, ChakraCollective::all_to_all, 4'000'000)}));
  const std::string nic = R"("nic": {"latency": "5 us", "per_byte": "1 ns/B"}})";
  for (const auto& [network, us] : {std::pair("tcp", 3010), std::pair("nccl", 3030)}) {
    const Ran ran = files.run({"-c", R"({"shape": "single_switch", "nodes": 4, "network": ")" +
                                         std::string(network) + "\", " + nic});
    REQUIRE(ran.exit_code == 0);
    CHECK(Json::parse(ran.out)["makespan_ps"] == us * int64_t{1'000'000});
  }
}

// On a torus of 2 x 2: of 4 MB half goes to the neighbour in the row, a quarter to that in the
// column, and back. Each takes 1 ns/B.
TEST_CASE("chakra replay: rings of a torus") {
  const TraceFiles files(std::vector<Nodes>(4, {exchanging(0, all_reduce, 4'000'000)}));
  const std::string torus = R"({"shape": "torus", "dimensions": [2, 2], "network": "paper",)"
                            R"( "link": {"latency": "0 us", "per_byte": "1 ns/B"}})";
  const Ran ran = files.run({"-c", torus, "-a", "torus_ring"});
  INFO(ran.log);
  REQUIRE(ran.exit_code == 0);
  CHECK(Json::parse(ran.out)["makespan_ps"] == 2 * 3000 * int64_t{1'000'000});
}

}  // namespace sgdsim
