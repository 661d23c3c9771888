// The algorithm that nobody named is the same for one question, whichever command asks it.
#include <algorithm>
#include <doctest/doctest.h>
#include <string>
#include <vector>

#include "tests/json_of_run.h"
#include "tests/run_program.h"
#include "topologies/cluster_file.h"

namespace sgdsim::usual_algorithm_test {
namespace {

using Words = std::vector<std::string>;

Json collective(const std::string& cluster, Words more) {
  Words words = {"collective", "-c", cluster, "--format", "json"};
  words.insert(words.end(), more.begin(), more.end());
  return json_of_run(words);
}
// The one that has so many ranks and bytes.
Json point_of(const Json& sweep, int ranks, int64_t size_B) {
  for (const Json& point : sweep["points"])
    if (point["ranks"] == ranks && point["size_B"] == size_B) return point;
  FAIL("no such point");
  return {};
}
Json job_of(const std::string& cluster, const Json& job, const Words& more) {
  const Temporary file(Temporary::Kind::file,
                       Json{{"cluster", cluster}, {"jobs", Json::array({job})}}.dump());
  Words words = {"jobs", file.name(), "--format", "json"};
  words.insert(words.end(), more.begin(), more.end());
  const Json jobs = json_of_run(words);
  return jobs["jobs"][0];
}

// Boxes of four GPUs behind so many cards each, at one switch.
Json boxes(int cards) {
  Json file = {{"schema", "sgdsim/cluster/1"},
               {"name", "boxes"},
               {"network", "nccl"},
               {"shape", "explicit"},
               {"gpus_per_node", 4},
               {"vertices", {{{"name", "switch"}, {"kind", "switch"}}}},
               {"links",
                {{"inside", {{"latency", "1 us"}, {"bandwidth", "50 GBps"}}},
                 {"cable", {{"latency", "2 us"}, {"bandwidth", "10 GBps"}}}}},
               {"edges", Json::array()}};
  for (const std::string box : {"a", "b", "c"}) {
    for (int card = 0; card < cards; ++card) {
      const std::string name = box + "/nic" + std::to_string(card);
      file["vertices"].push_back({{"name", name}, {"kind", "nic"}});
      file["edges"].push_back({{"from", name}, {"to", "switch"}, {"link", "cable"}});
    }
    for (int gpu = 0; gpu < 4; ++gpu) {
      const std::string name = box + "/gpu" + std::to_string(gpu);
      const std::string card = box + "/nic" + std::to_string(gpu * cards / 4);
      file["vertices"].push_back({{"name", name}, {"kind", "gpu"}, {"forwards", false}});
      file["edges"].push_back({{"from", name}, {"to", card}, {"link", "inside"}});
      for (int other = 0; other < gpu; ++other)
        file["edges"].push_back(
            {{"from", name}, {"to", box + "/gpu" + std::to_string(other)}, {"link", "inside"}});
    }
  }
  return file;
}

}  // namespace

TEST_CASE("usual algorithm: each point of a sweep has that of its own question") {
  struct Row {
    const char* cluster;
    const char* ranks;
    const char* sizes;
    std::vector<int> counts;
  };
  const int64_t large = 64 << 20;
  for (const Row& row : std::vector<Row>{{"dgx_h100_4", "1,8,16", "64MiB", {1, 8, 16}},
                                         {"dgx_h100_4", "16", "0B,64MiB", {16}},
                                         {"100gbe_2x8", "8,16", "64MiB", {8, 16}},
                                         {"mi300x_2", "5,8,16", "64MiB", {5, 8, 16}}}) {
    const Json sweep =
        collective(row.cluster, {"--sweep", "-p", row.ranks, "-n", std::string(row.sizes)});
    for (const int ranks : row.counts) {
      CAPTURE(row.cluster);
      CAPTURE(ranks);
      const Json point = point_of(sweep, ranks, large);
      const Json alone = collective(row.cluster, {"-p", std::to_string(ranks), "-n", "64MiB"});
      CHECK(point["algorithm"] == alone["algorithm"]);
      CHECK(point["time_ps"] == alone["time_ps"]);
    }
  }
  const Ran table =
      run_sgdsim({"collective", "--sweep", "-c", "dgx_h100_4", "-p", "1,16", "-n", "1MiB"});
  CHECK(table.exit_code == 0);
  CHECK(table.out.find("algorithm") != std::string::npos);
  CHECK(table.out.find("nccl") != std::string::npos);
}

TEST_CASE("usual algorithm: a job of a collective is that collective, and pays no program") {
  struct Row {
    const char* cluster;
    int ranks;
  };
  for (const Row& row :
       std::vector<Row>{{"100gbe_2x8", 8}, {"10gbe_2x8", 16}, {"mi300x_2", 8}, {"dgx_h100_4", 16}})
    for (const char* bytes : {"1 MiB", "64 MiB"}) {
      CAPTURE(row.cluster);
      CAPTURE(bytes);
      const std::string ranks = std::to_string(row.ranks);
      const Json alone = collective(row.cluster, {"-p", ranks, "-n", bytes, "--fidelity", "flow"});
      const Json job = job_of(
          row.cluster,
          {{"collective", {{"bytes", bytes}}}, {"placement", "0-" + std::to_string(row.ranks - 1)}},
          {"--fidelity", "flow"});
      CHECK(job["iteration_us"].get<double>() ==
            doctest::Approx(alone["time_us"].get<double>()).epsilon(1e-9));
    }
  const auto with_launch = [](const Json& launch) {
    Json its = {{"bytes", "8 B"}, {"algorithm", "nccl"}};
    its.update(launch);
    return job_of("dgx_h100_4", {{"collective", its}, {"placement", "0-15"}},
                  {"--fidelity", "flow"})["iteration_us"]
        .get<double>();
  };
  CHECK(with_launch({{"launch", "86 us"}}) ==
        doctest::Approx(with_launch(Json::object()) + 86).epsilon(1e-9));
}

TEST_CASE("usual algorithm: a replay among some workers goes by these") {
  const Temporary folder(Temporary::Kind::folder);
  const std::string prefix = folder.name() + "/step";
  // One exchange of all gradients, nothing else that takes long.
  const Ran exported =
      run_sgdsim({"export", "chakra", "resnet50_v100", "-c", "100gbe_16", "--set",
                  "cluster.nodes=8", "--set", "strategy=sync_easgd", "--out", prefix});
  REQUIRE(exported.exit_code == 0);
  Words files;
  for (int rank = 0; rank < 8; ++rank) files.push_back(prefix + "." + std::to_string(rank) + ".et");
  const auto replayed = [&](const Words& more) {
    Words words = {"replay", "-c", "100gbe_2x8", "--fidelity", "flow", "--format", "json"};
    words.insert(words.end(), files.begin(), files.end());
    words.insert(words.end(), {"--groups", prefix + ".groups.json"});
    words.insert(words.end(), more.begin(), more.end());
    return json_of_run(words);
  };
  // Eight of one node are all there are, where NCCL is what people run.
  CHECK(replayed({})["makespan_ps"] == replayed({"-a", "nccl"})["makespan_ps"]);
}

TEST_CASE("usual algorithm: cards that a drawing shares are counted once") {
  for (const int cards : {1, 2, 4}) {
    const Json file = boxes(cards);
    CAPTURE(cards);
    CHECK(read_cluster(Value(file, "f", "")).cluster.cards_per_node() == cards);
    const Temporary stored(Temporary::Kind::file, file.dump());
    const Json answer = collective(stored.name(), {"-n", "1 GB"});
    CHECK((answer["algorithm"] == "ring") == (cards == 1));
    // What leaves a box is at least all of the message, over all of its cards.
    CHECK(answer["time_us"].get<double>() >= 1e9 / (cards * 10e9) * 1e6);
  }
  const Json shipped = collective("two_boxes_explicit", {"-n", "1 GiB"});
  CHECK(shipped["algorithm"] == "ring");
  CHECK(shipped["time_us"].get<double>() >= 1073741824 / 11.875e9 * 1e6);
}

TEST_CASE("usual algorithm: within a node, hierarchical is what it does inside") {
  for (const char* ranks : {"2", "4", "8"}) {
    const Json all = collective("dgx_a100_2", {"-a", "hierarchical", "-p", ranks, "-n", "1 MB"});
    const Json inside = collective("dgx_a100_2", {"-a", "ring", "-p", ranks, "-n", "1 MB"});
    CHECK(all["time_ps"] == inside["time_ps"]);
  }
}

TEST_CASE("usual algorithm: what a Chakra trace cannot say of an exchange is told") {
  const Temporary folder(Temporary::Kind::folder);
  const auto log_of = [&](const std::string& algorithm) {
    const Ran ran = run_sgdsim({"export", "chakra", "resnet50_v100", "-c", "100gbe_16", "--set",
                                "cluster.nodes=4", "--set", "collective=" + algorithm, "--out",
                                folder.name() + "/" + algorithm});
    CHECK(ran.exit_code == 0);
    return ran.log;
  };
  const std::string note = "wait for their receivers, which `sgdsim replay` does not do";
  CHECK(log_of("mst").find(note) != std::string::npos);
  CHECK(log_of("ring").find(note) == std::string::npos);
}

}  // namespace sgdsim::usual_algorithm_test
