// The golden vectors of the published cost models: every value by the formula and by the schedule.
//
// alpha = 10, beta = 1, gamma = 1/2 in units of us, us/B. Expected values are the closed forms of
// the papers, evaluated by hand; they are exact, so they are compared to the picosecond.
#include <cmath>
#include <doctest/doctest.h>
#include <tuple>

#include "models/collective/options.h"
#include "models/collective/simulate.h"
#include "sim/play/pipeline_engine.h"

using namespace sgdsim;

namespace {

struct Row {
  const char* algorithm;
  Operation operation;
  std::vector<std::pair<const char*, const char*>> options;
  int64_t n;
  int64_t block;  // 0: none
  int ranks;
  int64_t expected_ps;
  bool formula = true;  // has a closed form
  bool schedule = true;
  double gamma = 0.5;
};

CollectiveQuestion question_of(const Row& row) {
  CollectiveQuestion question;
  question.algorithm = row.algorithm;
  question.operation = row.operation;
  question.messages = {Bytes(row.n)};
  if (row.block > 0) question.block = Bytes(row.block);
  for (const auto& [key, value] : row.options) set_option(question.options, key, value, "test");
  return question;
}

void check_rows(const std::vector<Row>& rows, Duration alpha = Duration::us(10),
                PerByte beta = PerByte::ps(1e6)) {
  for (const Row& row : rows) {
    CAPTURE(row.algorithm);
    CAPTURE(std::string(name_of(row.operation)));
    CAPTURE(row.ranks);
    CAPTURE(row.block);
    Cluster cluster{
        .name = "",
        .network = Network::uniform(row.ranks, {alpha, beta, PerByte::ps(row.gamma * 1e6)}),
        .workers_per_node = 1,
        .grid = {},
        .notes = {}};
    CollectiveQuestion question = question_of(row);
    if (row.schedule)
      for (const PathChoice path : {PathChoice::fastest, PathChoice::rounds, PathChoice::events}) {
        question.path = path;
        CHECK(simulate_collective(question, cluster, "").time.ps() == row.expected_ps);
      }
    question.fidelity = Fidelity::closed_form;
    if (row.formula) CHECK(simulate_collective(question, cluster, "").time.ps() == row.expected_ps);
  }
}

constexpr int64_t us = 1'000'000;

}  // namespace

TEST_CASE("LP in integer units") {
  std::vector<Row> rows;
  struct Line {
    int ranks;
    int64_t broadcast, broadcast_paper, reduce, reduce_paper, reduce_overlapped, sequential, link,
        link_overlapped;
  };
  for (const Line& line : std::vector<Line>{{2, 1184, 1258, 1696, 1802, 1216, 2880, 1770, 1290},
                                            {3, 1258, 1332, 1802, 1908, 1322, 3060, 1950, 1470},
                                            {4, 1332, 1406, 1908, 2014, 1428, 3240, 2130, 1650},
                                            {8, 1628, 1702, 2332, 2438, 1852, 3960, 2850, 2370}}) {
    auto add = [&](Operation operation, int64_t expected,
                   std::vector<std::pair<const char*, const char*>> options, bool schedule = true) {
      rows.push_back({"lp", operation, std::move(options), 1024, 64, line.ranks, expected * us,
                      true, schedule});
    };
    add(Operation::broadcast, line.broadcast, {});
    add(Operation::broadcast, line.broadcast_paper, {{"lp_steps", "paper"}}, false);
    add(Operation::reduce, line.reduce, {});
    add(Operation::reduce, line.reduce_paper, {{"lp_steps", "paper"}}, false);
    add(Operation::reduce, line.reduce_overlapped, {{"gamma", "overlap"}});
    add(Operation::allreduce, line.sequential, {{"lp_allreduce", "sequential"}});
    add(Operation::allreduce, line.link, {{"duplex", "link"}});
    add(Operation::allreduce, line.link_overlapped, {{"duplex", "link"}, {"gamma", "overlap"}});
  }
  check_rows(rows);
}

TEST_CASE("MST, BE and ring in integer units") {
  std::vector<Row> rows;
  struct Line {
    int ranks;
    int64_t mst_broadcast, mst_reduce, mst_eager, mst_allreduce, be_reduce, be_allreduce, ring;
  };
  for (const Line& line : std::vector<Line>{{2, 1034, 1546, 1546, 2580, 1300, 1300, 1300},
                                            {3, 2068, 3092, 2580, 5160, 2846, 3880, 1750},
                                            {4, 2068, 3092, 3092, 5160, 1960, 1960, 1980},
                                            {8, 3102, 4638, 4638, 7740, 2300, 2300, 2380}}) {
    auto add = [&](const char* algorithm, Operation operation, int64_t expected,
                   std::vector<std::pair<const char*, const char*>> options = {}) {
      rows.push_back(
          {algorithm, operation, std::move(options), 1024, 0, line.ranks, expected * us});
    };
    add("mst", Operation::broadcast, line.mst_broadcast);
    add("mst", Operation::reduce, line.mst_reduce);
    add("mst", Operation::reduce, line.mst_eager, {{"mst_reduce", "eager"}});
    add("mst", Operation::allreduce, line.mst_allreduce);
    add("be", Operation::reduce, line.be_reduce, {{"chunks", "fractional"}});
    add("be", Operation::allreduce, line.be_allreduce, {{"chunks", "fractional"}});
    add("halving_doubling", Operation::allreduce, line.be_allreduce, {{"chunks", "fractional"}});
    add("ring", Operation::allreduce, line.ring);
  }
  for (const auto& [ranks, expected] :
       std::vector<std::pair<int, int64_t>>{{2, 1044}, {4, 1586}, {8, 1892}})
    rows.push_back(
        {"be", Operation::broadcast, {{"chunks", "fractional"}}, 1024, 0, ranks, expected * us});
  check_rows(rows);
}

TEST_CASE("BE broadcast among three: 4216/3, each of four messages rounded to a picosecond") {
  check_rows({{"be",
               Operation::broadcast,
               {{"chunks", "fractional"}},
               1024,
               0,
               3,
               4 * (10 * us + 341'333'333)}});
}

TEST_CASE("a short last block") {
  std::vector<Row> rows;
  for (const auto& [ranks, broadcast, reduce] : std::vector<std::tuple<int, int64_t, int64_t>>{
           {2, 1040, 1540}, {3, 1350, 2000}, {4, 1660, 2460}}) {
    rows.push_back({"lp", Operation::broadcast, {}, 1000, 300, ranks, broadcast * us});
    rows.push_back({"lp", Operation::reduce, {}, 1000, 300, ranks, reduce * us});
  }
  rows.push_back({"ring", Operation::allreduce, {}, 1000, 0, 3, 1710 * us});
  rows.push_back({"ring", Operation::allreduce, {}, 1002, 0, 3, 1710 * us});
  check_rows(rows);
}

TEST_CASE("overlapped LP all-reduce over one port; broadcast first convoys") {
  std::vector<Row> rows;
  for (const auto& [ranks, reduce_first, broadcast_first] :
       std::vector<std::tuple<int, int64_t, int64_t>>{
           {2, 1258, 1258}, {3, 2442, 2442}, {4, 2590, 3626}}) {
    rows.push_back(
        {"lp", Operation::allreduce, {}, 1024, 64, ranks, reduce_first * us, true, true, 0});
    rows.push_back({"lp",
                    Operation::allreduce,
                    {{"lp_arbitration", "broadcast-first"}},
                    1024,
                    64,
                    ranks,
                    broadcast_first * us,
                    ranks == 2,
                    true,
                    0});
  }
  check_rows(rows);
}

// alpha = 10 us, beta = 0.1 ns/B, 243,860,896 B: AlexNet's parameters. The table prints
// microseconds.
TEST_CASE("broadcast of AlexNet") {
  struct Line {
    const char* algorithm;
    int64_t block;
    std::vector<std::pair<const char*, const char*>> options;
    int ranks;
    double expected_ms;
  };
  const Network two = Network::uniform(2, {});
  for (const Line& line :
       std::vector<Line>{{"mst", 0, {}, 2, 24.396},
                         {"mst", 0, {}, 4, 48.792},
                         {"mst", 0, {}, 8, 73.188},
                         {"be", 0, {}, 2, 24.406},
                         {"be", 0, {}, 4, 36.629},
                         {"be", 0, {}, 8, 42.776},
                         {"lp", 65536, {}, 2, 61.606},
                         {"lp", 65536, {}, 4, 61.639},
                         {"lp", 65536, {}, 8, 61.705},
                         {"lp", 1048576, {}, 2, 26.716},
                         {"lp", 1048576, {}, 4, 26.946},
                         {"lp", 1048576, {}, 8, 27.405},
                         {"lp", 0, {}, 2, 24.396},
                         {"lp", 0, {}, 4, 25.804},  // 71 (a + bB) + a + b'B = 25.80446
                         {"lp", 0, {}, 8, 26.866},
                         {"lp", 65536, {{"lp_steps", "paper"}}, 2, 61.613},
                         {"lp", 65536, {{"lp_steps", "paper"}}, 4, 61.646},
                         {"lp", 65536, {{"lp_steps", "paper"}}, 8, 61.712}}) {
    CAPTURE(line.algorithm);
    CAPTURE(line.ranks);
    CAPTURE(line.block);
    const Row row{
        line.algorithm, Operation::broadcast, line.options, 243'860'896, line.block, line.ranks, 0};
    CollectiveQuestion question = question_of(row);
    const Cluster cluster{
        "", Network::uniform(line.ranks, {Duration::us(10), PerByte::ps(100), {}}), 1, {}, {}};
    for (const Fidelity fidelity : {Fidelity::closed_form, Fidelity::message}) {
      if (fidelity == Fidelity::message && !line.options.empty()) continue;
      question.fidelity = fidelity;
      const double ms = simulate_collective(question, cluster, "").time.ms();
      CHECK(std::abs(ms - line.expected_ms) <= 0.0005001);  // three decimals are printed
    }
  }
}

// The figure of the LP paper: 3 GPUs, blocks a b c d, reduce along GPU0 -> GPU1 -> GPU2. Hop 0
// works in steps 1 to 4, hop 1 in steps 2 to 5; the whole takes 5 = P + m - 2 steps.
TEST_CASE("the step table of the LP paper's figure") {
  CollectiveJob job;
  job.operation = Operation::reduce;
  job.team = {.size = 3, .stride = 1};
  job.share = {.total = Bytes(400), .fractional = false, .split = {}};
  job.block = Bytes(100);
  const Network network =
      Network::uniform(3, {Duration::us(10), PerByte::ps(1e6), PerByte::ps(5e5)});
  const Program program = schedule_of(algorithm_named("lp", ""), job);
  REQUIRE(program.stages.size() == 1);
  std::vector<Time> clocks(3);
  MessageLog log;
  play_trees(std::get<TreePipeline>(program.stages.front()), 1, Wires(network, AlphaRule::port), {},
             clocks, &log);
  REQUIRE(log.size() == 8);
  const Duration step = Duration::us(160);  // 10 + 100 + 50
  for (const LoggedMessage& transfer : log) {
    CAPTURE(transfer.from);
    CAPTURE(transfer.number);
    CHECK(transfer.to == transfer.from + 1);
    const int64_t expected_step = transfer.number + transfer.from + 1;
    CHECK(transfer.sent == Time() + step * (expected_step - 1));
    CHECK(transfer.taken + transfer.fold == Time() + step * expected_step);
  }
  CHECK(clocks[2] == Time() + step * 5);
}

// Two levels of trees over 2 groups of 4: three messages of 10 + 100 us one after another, and for
// a reduction three folds of 50 us.
TEST_CASE("golden: rings have no root, so trees stand in for them in hierarchical") {
  using enum Operation;
  check_rows(
      {{"hierarchical", broadcast, {{"group", "4"}}, 100, 0, 8, 330'000'000},
       {"hierarchical", reduce, {{"group", "4"}}, 100, 0, 8, 480'000'000},
       {"hierarchical", broadcast, {{"group", "4"}, {"inner", "ring"}}, 100, 0, 8, 330'000'000},
       {"hierarchical",
        allreduce,
        {{"group", "4"}, {"hierarchical", "leader"}},
        100,
        0,
        8,
        // tree down and up in the group: 2 x 220 + 2 x 50; a ring of two: 2 x 60 + 25
        685'000'000}});
}
