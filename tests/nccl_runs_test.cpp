// What else nccl-tests says of a run: processes with several GPUs, groups that measure at the same
// time, times of the host, wrong results, and columns that a header names. On invented rows.
#include <doctest/doctest.h>
#include <string>
#include <vector>

#include "tests/texts.h"
#include "traces/measurement/registry.h"

namespace sgdsim {
namespace {

Measurement measured_in(const std::string& text) {
  return read_measurement({text, "some.log", {}, ""});
}

// ---- JSON

// Rows of 1 MiB: at 34.952533 GB/s it takes 30 us.
std::string json_side(const std::string& time, const std::string& wrong) {
  return "{" + time + R"("alg_bw": 34.952533, "bus_bw": 34.952533, "nwrong": )" + wrong + "}";
}
std::string json_row(int64_t size, const std::string& out_of_place, const std::string& in_place) {
  return R"({"size": )" + std::to_string(size) +
         R"(, "type": "float", "redop": "none", "root": "     0", "out_of_place": )" +
         out_of_place + R"(, "in_place": )" + in_place + "}";
}
std::string json_run(const std::string& config, const std::string& rows,
                     const std::string& bounds = "true") {
  return R"({"args": ["./build/broadcast_perf"], "config": {)" + config + R"(}, "results": [)" +
         rows + R"(], "out_of_bounds": {"count": 0, "okay": )" + bounds + "}}";
}
const std::string one_row =
    json_row(1048576, json_side(R"("time": 30.0, )", "0.0"), json_side(R"("time": 29.0, )", "0.0"));

// Devices of these ranks and groups.
std::string devices_of(const std::vector<std::pair<int, int>>& all) {
  std::string text;
  for (const auto& [rank, group] : all)
    text += (text.empty() ? "" : ", ") + (R"({"rank": )" + std::to_string(rank)) +
            R"(, "group": )" + std::to_string(group) + R"(, "hostname": "n0"})";
  return R"("devices": [)" + text + "]";
}

// A broadcast, whose bandwidths do not tell.
TEST_CASE("nccl-tests JSON: one device is listed for each process") {
  struct Row {
    std::string reason;
    std::string threads_and_gpus;
    std::vector<std::pair<int, int>> devices;
    int ranks;
  };
  const std::vector<Row> rows = {
      {"one process with 8", R"("nthreads": 1, "ngpus": 8, )", {{0, 0}}, 8},
      {"threads count", R"("nthreads": 2, "ngpus": 4, )", {{0, 0}}, 8},
      {"numbers as texts", R"("nthreads": "2", "ngpus": "4", )", {{0, 0}}, 8},
      {"four with 2", R"("nthreads": 1, "ngpus": 2, )", {{0, 0}, {2, 0}, {4, 0}, {6, 0}}, 8},
      {"four with 1", R"("nthreads": 1, "ngpus": 1, )", {{0, 0}, {1, 0}, {2, 0}, {3, 0}}, 4},
      {"neither is stated", "", {{0, 0}, {1, 0}}, 2},
      {"every rank is named", R"("ngpus": 4, )", {{0, 0}, {1, 0}, {2, 0}, {3, 0}}, 4},
      {"two groups", R"("ngpus": 2, )", {{0, 0}, {2, 0}, {4, 1}, {6, 1}}, 4},
      {"every other one", R"("ngpus": 1, )", {{0, 0}, {1, 1}, {2, 0}, {3, 1}}, 2},
  };
  for (const Row& row : rows) {
    INFO(row.reason);
    const Measurement read =
        measured_in(json_run(row.threads_and_gpus + devices_of(row.devices), one_row));
    REQUIRE(read.series.size() == 2);
    CHECK(read.series[0].ranks == row.ranks);
    const bool is_split = row.devices.back().second > 0;
    CHECK(read.notes.size() == (is_split ? 1 : 0));
    if (is_split)
      CHECK(has_note(read,
                     "the devices are in 2 groups (NCCL_TESTS_SPLIT), which measured at the "
                     "same time; times are those of the first, of " +
                         std::to_string(row.ranks) + " ranks"));
  }
}

TEST_CASE("nccl-tests JSON: rows with wrong results are dropped") {
  const std::string config = R"("ngpus": 8, )" + devices_of({{0, 0}});
  const std::string good = json_side(R"("time": 30.0, )", "0.0");
  const std::string unchecked = json_side(R"("time": 30.0, )", "null");
  const std::string bad = json_side(R"("time": 30.0, )", "1024.0");
  const std::string text = json_side(R"("time": 30.0, )", R"("1")");
  const Measurement read = measured_in(
      json_run(config,
               json_row(1024, good, good) + "," + json_row(2048, good, bad) + "," +
                   json_row(4096, text, good) + "," + json_row(8192, unchecked, unchecked),
               R"("false")"));
  REQUIRE(read.series.size() == 2);
  REQUIRE(read.series[0].points.size() == 2);
  CHECK(read.series[0].points[1].size == Bytes(8192));
  CHECK(read.notes ==
        std::vector<std::string>{"2 lines dropped: its results are wrong (#wrong is not 0)"});
  CHECK(holds(refusal_of([&] { measured_in(json_run(config, json_row(1024, bad, bad))); }),
              "no measured time is left; 1 line dropped: its results are wrong"));
  for (const char* bounds : {"false", R"("false")"})
    CHECK(has_note(measured_in(json_run(config, one_row, bounds)),
                   "out_of_bounds says that results are wrong"));
  CHECK(measured_in(json_run(config, one_row, R"("true")")).notes.empty());
}

// 1,048,576 B / 34.952533 GB/s = 30.000000 us. 8 B at 0.000020 GB/s may be 390 or 410 us.
TEST_CASE("nccl-tests JSON: times of the host give way to those of the bandwidths") {
  const std::string host = json_side(R"("cpu_time": 5.0, )", "0.0");
  const std::string coarse = R"({"cpu_time": 5.0, "alg_bw": 0.000020, "bus_bw": 0.000020})";
  const Measurement read =
      measured_in(json_run(R"("ngpus": 8, )" + devices_of({{0, 0}}),
                           json_row(1048576, host, host) + "," + json_row(8, coarse, coarse)));
  REQUIRE(read.series.size() == 2);
  for (const Series& one : read.series) {
    REQUIRE(one.points.size() == 1);
    CHECK(one.points[0].time.us() == doctest::Approx(30).epsilon(1e-6));
  }
  CHECK(has_note(read, "times are size / algbw: with -C 1"));
  CHECK(has_note(read, "1 line dropped: only the time of the host (-C 1)"));
}

// ---- tables

const std::string table_words =
    "#       size         count      type   redop    root     time   algbw   busbw  #wrong     time"
    "   algbw   busbw  #wrong\n"
    "#        (B)    (elements)                               (us)  (GB/s)  (GB/s)             (us)"
    "  (GB/s)  (GB/s)\n";
const std::string host_words =
    "#       size         count      type   redop    root  cputime   algbw   busbw  #wrong  cputime"
    "   algbw   busbw  #wrong\n";

std::string device_lines(int ranks, int groups, int hosts) {
  std::string text = "# Using devices\n";
  for (int i = 0; i < ranks; ++i)
    text += "#  Rank " + std::to_string(i) + " Group " + std::to_string(i * groups / ranks) +
            " Pid 42 on node" + std::to_string(i * hosts / ranks) +
            " device 0 [0000:0f:00] Example GPU\n";
  return text;
}

// 16 GPUs on two nodes. 16,777,216 B / 98.89 us = 169.66 GB/s.
TEST_CASE("nccl log: of several groups the first is read") {
  const std::string rows =
      "16777216 4194304 float none 0 98.89 169.66 169.66 0 98.89 169.66 169.66 0\n";
  const auto read = [&](int groups) {
    return measured_in("# Collective test starting: broadcast_perf\n" +
                       device_lines(16, groups, 2) + table_words + rows);
  };
  CHECK(read(1).series.at(0).ranks == 16);
  CHECK(read(1).series[0].nodes == 2);
  CHECK(read(1).notes.empty());
  CHECK(read(2).series.at(0).ranks == 8);
  CHECK(read(2).series[0].nodes == 1);
  CHECK(has_note(read(2), "the devices are in 2 groups (NCCL_TESTS_SPLIT)"));
  CHECK(read(4).series.at(0).ranks == 4);
}

// 32,768 B at 2.16 GB/s are 15.170 us, 16 MiB at 169.66 GB/s 98.887 us. 0.27 GB/s may be 2 % less.
TEST_CASE("nccl log: times of the host give way to those of the bandwidths") {
  const std::string start = "# Collective test starting: all_reduce_perf\n";
  const std::string rows =
      "8 2 float sum -1 5.10 0.00 0.00 0 5.10 0.00 0.00 0\n"
      "4096 1024 float sum -1 5.11 0.27 0.48 0 5.11 0.27 0.48 0\n"
      "32768 8192 float sum -1 5.12 2.16 3.78 0 5.12 2.16 3.78 0\n"
      "16777216 4194304 float sum -1 5.17 169.66 296.91 0 5.17 169.66 296.91 0\n";
  const std::string real =
      "16777216 4194304 float sum -1 98.80 169.81 297.17 0 98.80 169.81 297.17 0\n";
  const std::string times_note = "times are size / algbw: with -C 1";
  const Measurement read = measured_in(start + device_lines(8, 1, 1) + host_words + rows);
  REQUIRE(read.series.size() == 2);
  REQUIRE(read.series[0].points.size() == 2);
  CHECK(read.series[0].points[0].time.us() == doctest::Approx(32768 / 2.16e3));
  CHECK(read.series[0].points[1].time.us() == doctest::Approx(16777216 / 169.66e3));
  CHECK(has_note(read, times_note));
  CHECK(has_note(read, "2 lines dropped: only the time of the host (-C 1), and too few digits"));
  // The next table has times of its own: the median of 98.887 and 98.80.
  const Measurement both =
      measured_in(start + device_lines(8, 1, 1) + host_words + rows + table_words + real);
  CHECK(both.series.at(0).points.at(1).time.us() ==
        doctest::Approx((16777216 / 169.66e3 + 98.8) / 2));
  CHECK(measured_in(start + device_lines(8, 1, 1) + table_words + real).notes.empty());
  CHECK(holds(refusal_of([&] {
                measured_in(start + device_lines(8, 1, 1) + host_words + rows.substr(0, 100));
              }),
              "only the time of the host (-C 1)"));
}

// 4,096 B in 20.5 and 19.5 us.
TEST_CASE("nccl log: a header says where the numbers of a side stand") {
  const std::string start = "# Collective test starting: all_reduce_perf\n" + device_lines(4, 1, 1);
  const std::string front = "# size count type redop root ";
  const auto header = [&](const std::string& side) { return front + side + " " + side + "\n"; };
  struct Row {
    std::string reason;
    std::string side_words;
    std::string row;
  };
  const std::vector<Row> rows = {
      {"compared bit by bit", "time algbw busbw #wrong #bitdiff",
       "20.50 0.20 0.30 0 77 19.50 0.21 0.32 0 0"},
      {"per iteration, too", "time algbw busbw #wrong #bitdiff i_min i_max i_p99 i_cv%",
       "20.50 0.20 0.30 0 77 19 23 22.5 3.1 19.50 0.21 0.32 0 0 18 22 21.5 2.9"},
      {"wrong elsewhere", "time algbw busbw other #wrong",
       "20.50 0.20 0.30 9 0 19.50 0.21 0.32 9 0"},
      {"six", "time algbw other busbw more #wrong", "20.50 0.20 8 0.30 9 0 19.50 0.21 8 0.32 9 0"},
  };
  for (const Row& row : rows) {
    INFO(row.reason);
    const Measurement read =
        measured_in(start + header(row.side_words) + "4096 1024 float sum -1 " + row.row + "\n");
    REQUIRE(read.series.size() == 2);
    CHECK(read.notes.empty());
    CHECK(read.series[0].ranks == 4);
    CHECK(read.series[0].points.at(0).time == Duration::ns(20500));
    CHECK(read.series[1].points.at(0).time == Duration::ns(19500));
  }
  const std::string words = header("time algbw busbw #wrong #bitdiff");
  const std::string whole = "4096 1024 float sum -1 20.50 0.20 0.30 0 0 19.50 0.21 0.32 0 0\n";
  // Fewer than the header has were cut off; results that are wrong stand in the same column.
  const Measurement cut =
      measured_in(start + words + whole +
                  "8192 2048 float sum -1 20.50 0.40 0.60 0 0 19.50 0.42 0.63\n"
                  "16384 4096 float sum -1 20.5 0.80 1.20 7 0 19.5 0.84 1.26 7 0\n");
  CHECK(cut.series.at(0).points.size() == 1);
  CHECK(has_note(cut, "1 line dropped: broken or cut off within the row"));
  CHECK(has_note(cut, "1 line dropped: its results are wrong (#wrong is not 0)"));
}

}  // namespace
}  // namespace sgdsim
