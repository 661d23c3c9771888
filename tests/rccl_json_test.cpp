// JSON lines of rccl-tests: how many ranks they are among, and which results are wrong. On invented
// rows.
#include <doctest/doctest.h>
#include <optional>
#include <string>
#include <vector>

#include "tests/texts.h"
#include "traces/measurement/registry.h"

namespace sgdsim {
namespace {

// 1,048,576 B in 30 us are 34.952533 GB/s.
std::string rccl_line(const std::string& name, const std::string& counts, const std::string& busbw,
                      const std::string& more) {
  return R"({"numCycle":0, "name":")" + name + "\", " + counts +
         R"("size":1048576, "type":"float", "redop":"none", "inPlace":0, "time":30.0, )" +
         R"("algBw":34.952533, "busBw":)" + busbw + more + "},\n";
}

Measurement rccl_measured(const std::string& text, std::optional<int> ranks = {}) {
  return read_measurement({text, "some.jsonl", ranks, ""});
}

// All-reduces among n have busBw = 2(n-1)/n algBw: 65.536 among 16, 61.166933 among 8, 52.4288
// among 4. Broadcasts do not tell.
TEST_CASE("rccl-tests JSON: the number of ranks") {
  struct Row {
    std::string reason;
    std::string name;
    std::string counts;
    std::string busbw;
    std::optional<int> told;
    int ranks;
    bool is_noted;
  };
  const std::string broadcast = "34.952533";
  const std::string split = R"("nodes":2, "ranks":16, "ranksPerNode":8, "gpusPerRank":1, )";
  const std::vector<Row> rows = {
      {"without MPI", "Broadcast", R"("gpus":8, )", broadcast, {}, 8, false},
      {"gpus are all", "Broadcast", R"("ranks":2, "gpus":8, )", broadcast, {}, 8, false},
      {"with MPI",
       "Broadcast",
       R"("nodes":1, "ranks":16, "ranksPerNode":16, "gpusPerRank":1, )",
       broadcast,
       {},
       16,
       false},
      {"several GPUs each",
       "Broadcast",
       R"("nodes":1, "ranks":2, "ranksPerNode":2, "gpusPerRank":8, )",
       broadcast,
       {},
       16,
       false},
      {"ranks alone", "Broadcast", R"("ranks":"4", )", broadcast, {}, 4, false},
      {"in doubt", "Broadcast", split, broadcast, {}, 16, true},
      {"told: a group", "Broadcast", split, broadcast, 8, 8, false},
      {"told: all", "Broadcast", split, broadcast, 16, 16, false},
      {"the ratio says all", "AllReduce", split, "65.536000", {}, 16, false},
      {"the ratio says a group", "AllReduce", split, "61.166933", {}, 8, false},
      {"the ratio says neither", "AllReduce", split, "52.428800", {}, 16, true},
  };
  for (const Row& row : rows) {
    INFO(row.reason);
    const Measurement read = rccl_measured(
        "[\n" + rccl_line(row.name, row.counts, row.busbw, R"(, "wrong":"0")") + "]\n", row.told);
    REQUIRE(read.series.size() == 1);
    CHECK(read.series[0].ranks == row.ranks);
    CHECK(read.series[0].points.at(0).time == Duration::us(30));
    CHECK(read.notes.size() == (row.is_noted ? 1 : 0));
    if (row.is_noted)
      CHECK(has_note(read,
                     "taken among all 16 ranks; if NCCL_TESTS_SPLIT made groups of 8, give "
                     "--ranks 8"));
  }
  CHECK(holds(refusal_of([&] { rccl_measured(rccl_line("Broadcast", "", broadcast, "")); }),
              "a line has neither \"gpus\" nor \"ranks\""));
}

TEST_CASE("rccl-tests JSON: lines with wrong results are dropped") {
  struct Row {
    std::string more;
    bool is_wrong;
  };
  const std::vector<Row> rows = {{"", false},
                                 {R"(, "wrong":"0")", false},
                                 {R"(, "wrong":"N/A")", false},
                                 {R"(, "#wrong":0)", false},
                                 {R"(, "wrong":"512")", true},
                                 {R"(, "wrong":512)", true},
                                 {R"(, "#wrong":512)", true},
                                 {R"(, "#wrong":"512")", true}};
  const std::string good = rccl_line("AllGather", R"("gpus":8, )", "30.583466", "");
  for (const Row& row : rows) {
    INFO(row.more);
    const std::string line = rccl_line("Broadcast", R"("gpus":8, )", "34.952533", row.more);
    const Measurement read = rccl_measured(good + line);
    CHECK(read.series.size() == (row.is_wrong ? 1 : 2));
    CHECK(has_note(read, "1 line dropped: its results are wrong (#wrong is not 0) (line 2)") ==
          row.is_wrong);
    if (row.is_wrong)
      CHECK(holds(refusal_of([&] { rccl_measured(line); }), "its results are wrong"));
  }
}

}  // namespace
}  // namespace sgdsim
