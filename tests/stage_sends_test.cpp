// Sends between stages where only some leave a node, or several leave it by one card; and words of
// a search that belong to some ZeRO stages only.
#include <doctest/doctest.h>

#include "models/training/group_times.h"
#include "tests/json_of_run.h"
#include "topologies/cluster_file.h"

namespace sgdsim {
namespace {

// Two links of 1 us inside, 0.01 ns a byte; gpu_link and nic at both ends of what leaves, 0.1 ns.
Cluster boxes_of_eight(int nodes, int cards) {
  const Json json = {{"shape", "nvlink_box"},
                     {"nodes", nodes},
                     {"gpus_per_node", 8},
                     {"nics_per_node", cards},
                     {"gpu_link", {{"latency", "1 us"}, {"bandwidth", "100 GBps"}}},
                     {"nic", {{"latency", "3 us"}, {"bandwidth", "10 GBps"}}}};
  return read_cluster(Value(json, "boxes", "")).cluster;
}

double step_us(std::vector<std::string> words, const std::string& fidelity) {
  words.insert(words.begin(), "layout");
  words.insert(words.end(), {"--fidelity", fidelity, "--format", "json"});
  return json_of_run(words)["layouts"][0]["step_us"];
}

}  // namespace

TEST_CASE("sends: each boundary takes what it takes, and a card is shared by who leaves, by hand") {
  const double us = 1e-6;
  const double inside_s = (2 + 10) * us;
  struct Row {
    int cards;
    RankGroup stages;
    bool goes_around;
    std::vector<int> leaving;  // by the fullest card, over each boundary; 0: it stays inside
  };
  const std::vector<Row> rows = {
      {8, {1, 16}, false, {0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0}},
      {1, {1, 16}, false, {0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0}},
      {1, {2, 8}, true, {0, 0, 0, 2, 0, 0, 0, 2}},
      {2, {2, 8}, false, {0, 0, 0, 2, 0, 0, 0}},  // both are on the second card
      {1, {8, 2}, false, {8}},
      {4, {8, 2}, false, {2}},
      // Rings of every second GPU: one leaves in each, two together.
      {1, {2, 8}, true, {0, 0, 0, 2, 0, 0, 0, 2}}};
  for (const Row& row : rows) {
    CAPTURE(row.cards);
    CAPTURE(row.stages.stride);
    const Cluster cluster = boxes_of_eight(2, row.cards);
    GroupTimes groups(cluster, 16);
    const std::vector<double> sends = groups.sends_s(row.stages, 1e6, row.goes_around);
    const auto busy = groups.busy_to_next(row.stages, 1e6, row.goes_around);
    REQUIRE(sends.size() == row.leaving.size());
    for (std::size_t i = 0; i < sends.size(); ++i) {
      const int leaving = row.leaving[i];
      CHECK(sends[i] == doctest::Approx(leaving == 0 ? inside_s : (8 + 100 * leaving) * us));
      CHECK(busy[i].inside_s == doctest::Approx(leaving == 0 ? 10 * us : 0));
      CHECK(busy[i].across_s == doctest::Approx(100 * leaving * us));
    }
  }
}

// Messages on wires know nothing of formulas.
TEST_CASE("sends: closed form and passes agree with wires where few stages leave a node") {
  const std::vector<std::vector<std::string>> questions = {
      {"-c", "aws_p3_2", "--memory", "2000GB", "--layout", "tp2 pp8 ga64 zero0 sp"},
      {"-c", "aws_p3_2", "--memory", "2000GB", "--layout", "pp16 dp1 ga32 zero0"},
      {"-c", "100gbe_2x8", "--layout", "pp16 ga64 zero0"},
      {"-c", "100gbe_2x8", "--memory", "2000GB", "--layout", "pp16 vp2 ga64 zero0"},
      {"-c", "pcie4_box_2", "--memory", "2000GB", "--layout", "cp16 ga16 zero0 context=ring"},
      {"-c", "dgx_h100_4", "--gpus", "32", "--memory", "2000GB", "--set", "nic.bandwidth=100Gbps",
       "--layout", "pp16 dp2 ga32 zero1"}};
  for (std::vector<std::string> words : questions) {
    words.insert(words.begin(), {"llama3.1_8b", "--sequence", "4096"});
    CAPTURE(words.back());
    const double wires_us = step_us(words, "flow");
    CHECK(step_us(words, "message") == doctest::Approx(wires_us).epsilon(0.01));
    CHECK(step_us(words, "closed_form") == doctest::Approx(wires_us).epsilon(0.015));
  }
}

TEST_CASE("layout search: words of some ZeRO stages are tried with these, and with no other") {
  struct Row {
    const char* word;
    std::vector<std::string> never;
  };
  for (const Row& row :
       {Row{"overlap=off", {"zero2", "zero3"}}, Row{"accumulate=apart", {"zero2", "zero3"}},
        Row{"hsdp2", {"zero0"}}, Row{"reshard=off", {"zero0", "zero1", "zero2"}}}) {
    CAPTURE(row.word);
    const Json found = json_of_run({"layout", "llama3.1_8b", "-c", "dgx_h100_4", "--gpus", "32",
                                    "--global-batch", "64", "--memory", "192GB", "--with", row.word,
                                    "--lines", "400", "--format", "json"});
    REQUIRE(!found["layouts"].empty());
    for (const Json& line : found["layouts"]) {
      const std::string layout = line["layout"];
      CHECK(layout.find(row.word) != std::string::npos);
      for (const std::string& word : row.never) CHECK(layout.find(word) == std::string::npos);
    }
  }
}

}  // namespace sgdsim
