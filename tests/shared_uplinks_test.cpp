// What goes from rack to rack shares uplinks, and a slow card holds up all: in NCCL's model, in
// exchanges of all with all, in trees, and wherever the slow node is.
#include <algorithm>
#include <doctest/doctest.h>

#include "models/training/group_times.h"
#include "tests/cluster_cases.h"
#include "tests/run_program.h"

namespace sgdsim::shared_uplinks {
namespace {

// 16 boxes of eight GPUs with a card each, four boxes in a rack.
Cluster racks(double oversubscription) {
  return cluster_of({{"shape", "leaf_spine"},
                     {"network", "nccl"},
                     {"nodes", 16},
                     {"gpus_per_node", 8},
                     {"nics_per_node", 8},
                     {"nodes_per_leaf", 4},
                     {"spines", 4},
                     {"oversubscription", oversubscription},
                     {"gpu_link", {{"latency", "0.3 us"}, {"bandwidth", "400 GBps"}}},
                     {"nic", {{"latency", "0.35 us"}, {"bandwidth", "400 Gbps"}}},
                     {"uplink", {{"latency", "0.35 us"}}}});
}

double all_to_all_s(double oversubscription, const RankGroup& group) {
  return GroupTimes(racks(oversubscription), 128).all_to_all_s(group, 128e9);
}

Json asked(const std::vector<std::string>& words) {
  const Ran ran = call_sgdsim(words);
  INFO(ran.log);
  REQUIRE(ran.exit_code == 0);
  return Json::parse(ran.out);
}

double collective_us(const std::vector<std::string>& more) {
  std::vector<std::string> words = {"collective", "--format", "json"};
  words.insert(words.end(), more.begin(), more.end());
  return asked(words)["time_us"];
}

}  // namespace

// Among 128 a card carries 120 parts, and what leaves a rack, 96 parts of each of its 32 cards, has
// a part of 1/r of the cards: 96 r parts.
TEST_CASE("uplinks: all-to-alls over racks take as long as all that leaves one") {
  const RankGroup all{.stride = 1, .size = 128};
  const double unhindered = all_to_all_s(1, all);
  CHECK(unhindered == doctest::Approx(120 * 1e9 / 50e9).epsilon(1e-3));
  for (const double r : {2., 4., 16.})
    CHECK(all_to_all_s(r, all) == doctest::Approx(unhindered * 96 * r / 120).epsilon(1e-3));
  // Of eight groups of 16, one GPU of each box: 12 of 16 parts leave the rack.
  const RankGroup rails{.stride = 8, .size = 16};
  const double on_rails = all_to_all_s(1, rails);
  CHECK(all_to_all_s(4, rails) == doctest::Approx(on_rails * 12 * 4 / 15).epsilon(1e-3));
  // Of four groups of 32, each in a rack, nothing does.
  const RankGroup in_racks{.stride = 1, .size = 32};
  CHECK(all_to_all_s(16, in_racks) == all_to_all_s(1, in_racks));
}

// Groups of so many that pairs of one alone are more than a few million.
TEST_CASE("uplinks: large groups count, too") {
  Cluster cluster = cluster_of({{"shape", "leaf_spine"},
                                {"network", "nccl"},
                                {"nodes", 4096},
                                {"nodes_per_leaf", 64},
                                {"spines", 8},
                                {"oversubscription", 4},
                                {"nic", {{"latency", "1 us"}, {"bandwidth", "400 Gbps"}}},
                                {"uplink", {{"latency", "1 us"}}}});
  // Of 4,096 parts 4,032 leave a leaf, over a quarter of its cards.
  const double seconds =
      GroupTimes(cluster, 4096).all_to_all_s({.stride = 1, .size = 4096}, 4096e9);
  CHECK(seconds == doctest::Approx(4 * 4032 * 1e9 / 50e9).epsilon(1e-3));
}

TEST_CASE("uplinks: NCCL's rings wait for a slow card, whichever it is") {
  const auto with_slow = [](int node) {
    return collective_us(
        {"-a", "nccl", "-n", "1 GB", "-c", SGDSIM_SOURCE_DIR "/topologies/data/dgx_h100_4.json",
         "--set", "ports=[{\"node\":" + std::to_string(node) + ",\"bandwidth\":\"40 Gbps\"}]"});
  };
  const double usual = collective_us(
      {"-a", "nccl", "-n", "1 GB", "-c", SGDSIM_SOURCE_DIR "/topologies/data/dgx_h100_4.json"});
  CHECK(with_slow(0) > 5 * usual);  // a tenth of the rate, which the rest of the time dilutes
  for (const int node : {1, 2, 3}) CHECK(with_slow(node) == doctest::Approx(with_slow(0)));
  // Two cards of 10 Gbps among 25: no more than 1.25 GB/s.
  const Json two =
      asked({"collective", "-a", "nccl", "-n", "1 GB", "-c",
             SGDSIM_SOURCE_DIR "/topologies/data/two_rate_cluster.json", "--format", "json"});
  CHECK(two["busbw_GBps"] < 1.25);
  CHECK(two["busbw_GBps"] > 1.1);
}

// A rack of 16 rails-optimised boxes has an uplink for each r cards.
TEST_CASE("uplinks: NCCL's rings share uplinks") {
  const auto at = [](const char* oversubscription) {
    return collective_us({"-a", "nccl", "-n", "10 GB", "-c",
                          SGDSIM_SOURCE_DIR "/topologies/data/rails_h100_16.json", "--set",
                          std::string("oversubscription=") + oversubscription});
  };
  CHECK(at("1") < at("8"));
  CHECK(at("16") == doctest::Approx(2 * at("8")).epsilon(0.02));
}

// Four cards of a leaf have four uplinks that are as fast, so that wider ones are no faster; and of
// a fat tree a faster card never makes blocks slower.
TEST_CASE("uplinks: a tree has one block at a time on each port") {
  const auto on_leaves = [](const char* uplink) {
    const Json cluster = {{"schema", "sgdsim/cluster/1"},
                          {"name", "leaves"},
                          {"shape", "leaf_spine"},
                          {"network", "nccl"},
                          {"nodes", 16},
                          {"nodes_per_leaf", 4},
                          {"spines", 4},
                          {"nic", {{"latency", "1 us"}, {"bandwidth", "100 Gbps"}}},
                          {"uplink", {{"latency", "1 us"}, {"bandwidth", uplink}}}};
    const Temporary file(Temporary::Kind::file, cluster.dump());
    return collective_us({"-a", "double_binary_tree", "-n", "16 MB", "-c", file.name()});
  };
  CHECK(on_leaves("100 Gbps") == on_leaves("400 Gbps"));
}

// One uplink of the rate of a card: in the order 0, 2, 1, 3 a ring crosses it twice in each
// direction.
TEST_CASE("uplinks: the order of a placement is that of ranks, as a text and as a list") {
  const Json cluster = {{"shape", "leaf_spine"},
                        {"network", "nccl"},
                        {"nodes", 4},
                        {"nodes_per_leaf", 2},
                        {"spines", 1},
                        {"nic", {{"latency", "1 us"}, {"bandwidth", "10 Gbps"}}},
                        {"uplink", {{"latency", "1 us"}, {"bandwidth", "10 Gbps"}}}};
  const auto end_ps = [&](const Json& placement) {
    const Json jobs = {
        {"schema", "sgdsim/jobs/1"},
        {"cluster", cluster},
        {"jobs", Json::array({{{"collective", {{"algorithm", "ring"}, {"bytes", "40 MB"}}},
                               {"placement", placement}}})}};
    const Temporary file(Temporary::Kind::file, jobs.dump());
    return asked({"jobs", file.name(), "--format", "json"})["jobs"].dump();
  };
  CHECK(end_ps("0,2,1,3") == end_ps(Json({0, 2, 1, 3})));
  CHECK(end_ps("0-3") == end_ps(Json({0, 1, 2, 3})));
  CHECK(end_ps("0,2,1,3") != end_ps("0-3"));
}

}  // namespace sgdsim::shared_uplinks
