// Which operation and how many ranks a log of nccl-tests is about: by its words, its list of
// devices, the ratio of its bandwidths, or what it is told.
#include "traces/measurement/nccl_rows.h"

#include <cmath>
#include <doctest/doctest.h>

#include "sim/core/random.h"
#include "tests/texts.h"
#include "traces/measurement/registry.h"

namespace sgdsim {
namespace {

MeasuredText text_of(const std::string& text, std::optional<int> ranks = {},
                     const std::string& operation = "") {
  return {text, "some.log", ranks, operation};
}

const std::string title = "# Collective test starting: all_reduce_perf\n";

std::string devices(int count) {
  std::string text;
  for (int i = 0; i < count; ++i)
    text += "#  Rank " + std::to_string(i) + " Pid 1 on h device " + std::to_string(i) +
            " [0x0f] A100\n";
  return text;
}

TEST_CASE("nccl log: how many ranks, and who is believed") {
  struct Row {
    std::string reason;
    std::string test;
    int listed;
    std::optional<int> told;
    std::string algbw_busbw;
    int ranks;
    std::string note;
  };
  const std::vector<Row> rows = {
      {"ratio alone", "all_reduce", 0, {}, "10.49 18.35", 8, ""},
      {"list alone, too slow to tell", "all_reduce", 4, {}, "0.01 0.02", 4, ""},
      {"both agree", "all_reduce", 8, {}, "10.49 18.35", 8, ""},
      {"both differ", "all_reduce", 4, {}, "10.49 18.35", 8, "lists 4 devices"},
      {"told, and it fits", "all_reduce", 0, 8, "10.49 18.35", 8, ""},
      {"told, against the ratio", "all_reduce", 0, 16, "10.49 18.35", 16, "says 8 ranks"},
      {"sixteen", "all_reduce", 0, {}, "104.86 196.61", 16, ""},
      {"two", "all_reduce", 0, {}, "104.86 104.86", 2, ""},
      {"reduce-scatter", "reduce_scatter", 0, {}, "104.86 91.75", 8, ""},
      {"all-to-all", "alltoall", 0, {}, "104.86 91.75", 8, ""},
      {"broadcast says nothing", "broadcast", 8, {}, "104.86 104.86", 8, ""},
      {"256 listed, digits too few to refute", "all_reduce", 256, {}, "10.49 20.90", 256, ""},
      {"send and receive", "sendrecv", 0, {}, "104.86 104.86", 2, ""},
  };
  for (const Row& row : rows) {
    INFO(row.reason);
    std::string log = devices(row.listed) + "# " + row.test + "_perf\n";
    const double algbw = std::stod(row.algbw_busbw);
    for (int i = 0; i < 3; ++i) {
      const int64_t size = int64_t{1048576} << i;
      log += std::to_string(size) + " 1 float sum -1 " +
             std::to_string(static_cast<double>(size) / algbw / 1e3) + " " + row.algbw_busbw +
             " 0 N/A N/A N/A N/A\n";
    }
    const Measurement measurement = read_measurement(text_of(log, row.told));
    CHECK(measurement.series.front().ranks == row.ranks);
    CHECK(measurement.notes.empty() == row.note.empty());
    if (!row.note.empty()) CHECK(has_note(measurement, row.note));
  }
}

TEST_CASE("nccl log: the operation, from the log, the file, the option or the ratio") {
  const std::string row = "1048576 1 float sum -1 100.0 10.49 18.35 0 100.0 10.49 18.35 0\n";
  CHECK(read_measurement(text_of(row)).series[0].operation == "allreduce");  // 7/4 is above 1
  CHECK(read_measurement({row, "logs/nccl_reduce_scatter.txt", 8, ""}).series[0].operation ==
        "reduce_scatter");
  CHECK(read_measurement(text_of("x ./build/broadcast_perf -b 8\n" + row, 8)).series[0].operation ==
        "broadcast");
  CHECK(read_measurement(text_of(row, 8, "alltoall")).series[0].operation == "alltoall");
  // What a log says is not relabelled: the option then chooses.
  CHECK(read_measurement(text_of(title + row, 8, "alltoall")).series[0].operation == "allreduce");
  CHECK(nccl_operation_in("all_reduce_perf") == "allreduce");
  CHECK(nccl_operation_in("Reduce-Scatter") == "reduce_scatter");
  CHECK(nccl_operation_in("reduce_perf") == "reduce");
  CHECK(nccl_operation_in("gather_perf") == "gather");
  CHECK(nccl_operation_in("scatter_perf") == "scatter");
  CHECK(nccl_operation_in("ibping").empty());
}

// 7/4 and 3/2: tables of 8 and of 4 ranks.
TEST_CASE("nccl log: a number of ranks that is told chooses among tables") {
  const std::string log = title + "1048576 1 float sum -1 100.0 10.49 18.35 0 N/A N/A N/A N/A\n" +
                          title + "1048576 1 float sum -1 90.0 11.65 17.48 0 N/A N/A N/A N/A\n";
  const Measurement chosen = read_measurement(text_of(log, 4));
  REQUIRE(chosen.series.size() == 2);
  CHECK(chosen.series[0].ranks == 8);
  CHECK(chosen.series[1].ranks == 4);
  CHECK(chosen.notes.empty());
  const Measurement overruled = read_measurement(text_of(log, 16));
  REQUIRE(overruled.series.size() == 1);
  CHECK(overruled.series[0].points.at(0).time == Duration::us(95));
  CHECK(has_note(overruled, "says 4 ranks; taken as told: 16"));
}

// As printed, two decimals below 1000 GB/s: alone, rows at 300 GB/s leave 1/n open by 2.5e-5, or
// 2 in 300 ranks; what all rows allow together holds the count that was planted.
TEST_CASE("nccl log: the number of ranks, for every operation and count") {
  const auto two_decimals = [](double value) { return std::round(value * 100) / 100; };
  const std::vector<std::pair<std::string, double>> factors = {
      {"allreduce", 2}, {"reduce_scatter", 1}, {"allgather", 1},
      {"alltoall", 1},  {"gather", 1},         {"scatter", 1}};
  for (const auto& known : factors)
    for (int ranks = 2; ranks <= 1024; ranks += ranks < 70 ? 1 : 53) {
      const auto& operation = known.first;
      INFO(operation << " " << ranks);
      Random random(static_cast<uint64_t>(ranks));
      std::vector<LogRow> rows(20);
      for (LogRow& row : rows) {
        const double algbw = random.uniform(200, 300);
        row.out_of_place = {1, two_decimals(algbw),
                            two_decimals(algbw * known.second * (ranks - 1) / ranks)};
      }
      rows[7].out_of_place.busbw_GBps = 5;  // broken
      const RankRange range = ranks_from_ratio(operation, rows);
      CHECK(range.least <= ranks);
      CHECK(range.most >= ranks);
      if (ranks < 70) CHECK(range.nearest == ranks);
      CHECK(std::abs(range.nearest - ranks) <= 0.03 * ranks);
    }
  CHECK(ranks_from_ratio("broadcast", std::vector<LogRow>(3)).nearest == 0);
}

}  // namespace
}  // namespace sgdsim
