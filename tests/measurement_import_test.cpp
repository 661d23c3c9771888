// Benchmark logs as measurements: every layout and every noise that logs come with, on invented
// rows; and what must be refused.
#include <array>
#include <cstdio>
#include <doctest/doctest.h>

#include "sim/core/error.h"
#include "sim/core/json.h"
#include "sim/core/random.h"
#include "tests/texts.h"
#include "traces/measurement/nccl_rows.h"
#include "traces/measurement/registry.h"
#include "traces/measurement/words.h"

namespace sgdsim {
namespace {

MeasuredText text_of(const std::string& text, std::optional<int> ranks = {},
                     const std::string& operation = "") {
  return {text, "some.log", ranks, operation};
}

MeasuredText sample(const std::string& name, std::optional<int> ranks = {}) {
  return {read_text(std::string(SGDSIM_SOURCE_DIR) + "/tests/data/" + name), name, ranks, ""};
}

const Series& series_of(const Measurement& measurement, bool in_place) {
  for (const Series& series : measurement.series)
    if (series.in_place == in_place) return series;
  REQUIRE_MESSAGE(false, "no such series");
  return measurement.series.front();
}

const std::string title = "# Collective test starting: all_reduce_perf\n";

// ---- rows

// Each line alone, as a row of 4096 bytes that took 20.5 us out of place and 19.5 us in place (0:
// no such side).
TEST_CASE("nccl log: every layout of a row") {
  struct Row {
    std::string reason;
    std::string line;
    double out_us = 20.5;
    double in_us = 19.5;
  };
  const std::string sides = "20.50 0.20 0.30 0 19.50 0.21 0.32 0";
  const std::vector<Row> rows = {
      {"with root", "4096 1024 float sum -1 " + sides},
      {"without root", "4096 1024 float sum " + sides},
      {"without operator", "4096 1024 float -1 " + sides},
      {"neither", "4096 1024 float " + sides},
      {"root 0, no operator", "4096 1024 float 0 " + sides},
      {"operator none", "4096 1024 float none -1 " + sides},
      {"16 bits", "4096 2048 bfloat16 sum -1 " + sides},
      {"8 bits", "4096 4096 f8e4m3 sum -1 " + sides},
      {"error instead of #wrong",
       "4096 1024 float sum 20.50 0.20 0.30 5e-07 19.50 0.21 0.32 1e-06"},
      {"no check", "4096 1024 float sum -1 20.50 0.20 0.30 N/A 19.50 0.21 0.32 N/A"},
      {"no in-place side", "4096 1024 float 20.50 0.20 0.30 N/A N/A N/A N/A N/A", 20.5, 0},
      {"exponents", "4096 1024 float sum -1 2.05e+01 0.20 0.30 0 1.95e+01 0.21 0.32 0"},
      {"timestamp", "4096 1024 float sum -1 " + sides + " 2025-03-04 10:11:12"},
      {"one timestamp word", "4096 1024 float sum -1 " + sides + " 10:11:12.345"},
      {"repeated runs compared bit by bit",
       "4096 1024 float sum -1 20.50 0.20 0.30 0 0 19.50 0.21 0.32 0 12"},
      {"the same without root", "4096 1024 float sum 20.50 0.20 0.30 0 0 19.50 0.21 0.32 0 12"},
      {"the same per iteration",
       "4096 1024 float sum -1 20.50 0.20 0.30 0 12 19 23 22.5 3.1 19.50 0.21 0.32 0 0 18 22 21.5 "
       "2.9"},
      {"per iteration",
       "4096 1024 float sum -1 20.50 0.20 0.30 0 19 23 22.5 3.1 19.50 0.21 0.32 0 18 22 21.5 2.9%"},
      {"srun -l", "0:         4096 1024 float sum -1 " + sides},
      {"srun -l, two digits", "11: 4096 1024 float sum -1 " + sides},
      {"mpirun --tag-output", "[1,0]<stdout>:        4096 1024 float sum -1 " + sides},
      {"kubectl", "nccl-test-worker-0 2025-01-02T03:04:05.678Z 4096 1024 float sum -1 " + sides},
      {"a prefix without a blank", "[1,0]<stdout>:4096 1024 float sum -1 " + sides},
      {"colours", "\x1b[0;32m4096 1024 float sum -1 " + sides + "\x1b[0m"},
      {"thousands", "4_096 1_024 float sum -1 " + sides},
      {"trailing blanks", "4096 1024 float sum -1 " + sides + "     \t  "},
      {"line end of Windows", "4096 1024 float sum -1 " + sides + "\r"},
      {"tabs", "4096\t1024\tfloat\tsum\t-1\t20.50\t0.20\t0.30\t0\t19.50\t0.21\t0.32\t0"},
  };
  for (const Row& row : rows) {
    INFO(row.reason);
    const Measurement measurement = read_measurement(text_of(title + row.line + "\n", 4));
    CHECK(measurement.notes.empty());
    const auto time_us = [&](bool in_place) {
      for (const Series& series : measurement.series)
        if (series.in_place == in_place) return series.points.at(0).time.us();
      return 0.;
    };
    CHECK(measurement.series.front().operation == "allreduce");
    CHECK(measurement.series.front().points.at(0).size == Bytes(4096));
    CHECK(time_us(false) == doctest::Approx(row.out_us));
    CHECK(time_us(true) == doctest::Approx(row.in_us));
  }
}

TEST_CASE("nccl log: what is no row, and what is a broken one") {
  struct Row {
    std::string reason;
    std::string line;
    int dropped;
  };
  const std::string sides = "20.50 0.20 0.30 0 19.50 0.21 0.32 0";
  const std::vector<Row> rows = {
      {"head", "#  size  count  type  redop  root  time  algbw  busbw #wrong", 0},
      {"elided", "...", 0},
      {"markdown", "```", 0},
      {"NCCL INFO", "host:12:34 [0] NCCL INFO Channel 00/02 : 0 1 2 3", 0},
      {"average", "# Avg bus bandwidth    : 156.742", 0},
      {"cut off", "8192 2048 float sum -1 20.50 0.20", 1},
      {"cut off within the type", "8192 2048 flo", 0},
      {"print within",
       "8192 2048 float sum -1 20.50 0.20 0.30 host:1 NCCL INFO 0 19.50 0.21 0.32 0", 1},
      {"a print in place of the sides", "8192 2048 float sum -1[0] host:1 [0] NCCL INFO 8192 Bytes",
       1},
      {"a word for a number", "8192 2048 float sum -1 20.50 0.20 abc 0 19.50 0.21 0.32 0", 1},
      {"a negative time", "8192 2048 float sum -1 -20.50 0.40 0.60 0 19.50 0.42 0.64 0", 1},
      {"no time", "8192 2048 float sum -1 nan 0.40 0.60 0 19.50 0.42 0.64 0", 1},
      {"wrong results", "8192 2048 float sum -1 20.50 0.40 0.60 7 19.50 0.42 0.64 0", 1},
      {"millions of wrong results",
       "8192 2048 float sum -1 20.50 0.40 0.60 3.35544e+07 19.50 0.42 0.64 0", 1},
      {"wrong results in place", "8192 2048 float sum -1 20.50 0.40 0.60 0 19.50 0.42 0.64 1999",
       1},
      {"thousands", "1,048,576 262144 float sum -1 20.50 51.15 76.7 0 19.50 53.8 80.6 0", 1},
      {"no time out of place", "8192 2048 float sum -1 0.00 0 0 0 19.50 0.42 0.64 0", 1},
      {"a time that is N/A", "8192 2048 float sum -1 N/A N/A N/A 0 19.50 0.42 0.64 0", 1},
      {"an absurd time", "8192 2048 float sum -1 1e30 0 0 0 19.50 0.42 0.64 0", 1},
      {"a digit lost in the time",
       "8388608 2097152 float sum -1 4.2 99.52 174.16 0 83.22 100.8 176.4 0", 1},
  };
  std::string good = title;
  for (const int size : {4096, 16384, 65536})
    good += std::to_string(size) + " 1024 float sum -1 " + sides + "\n";
  // The three good rows agree with each other, not with their bandwidth: it is too small to tell.
  good = title + "4096 1 float sum -1 20.5 0.20 0.30 0 19.5 0.21 0.32 0\n" +
         "8192 1 float sum -1 20.5 0.40 0.60 0 19.5 0.42 0.63 0\n" +
         "16384 1 float sum -1 20.5 0.80 1.20 0 19.5 0.84 1.26 0\n";
  for (const Row& row : rows) {
    INFO(row.reason);
    const Measurement measurement = read_measurement(text_of(good + row.line + "\n", 4));
    CHECK(series_of(measurement, false).points.size() == 3);
    // A side that has a time has it for a size of before: a repetition, of which a note says so.
    CHECK(has_note(measurement, "dropped") == (row.dropped > 0));
    if (row.dropped > 0) CHECK(has_note(measurement, "1 line dropped"));
    if (row.dropped > 0) CHECK(has_note(measurement, "(line 5)"));
  }
}

TEST_CASE("nccl log: sizes of 0, repeated sizes, times of 0") {
  const Measurement measurement =
      read_measurement(text_of(title + "0 0 float sum -1 9.0 0 0 0 9.0 0 0 0\n"
                                       "1024 256 float sum -1 10.0 0.1 0.1 0 11.0 0.09 0.1 0\n"
                                       "1024 256 float sum -1 20.0 0.05 0.1 0 11.0 0.09 0.1 0\n"
                                       "2048 512 float sum -1 0.00 0 0 0 11.0 0.18 0.2 0\n",
                               2));
  const Series& out = series_of(measurement, false);
  REQUIRE(out.points.size() == 1);
  CHECK(out.points[0].time == Duration::us(15));  // the median of two
  CHECK(series_of(measurement, true).points.size() == 2);
}

// One run of four among other work: the mean would be 190 ms.
TEST_CASE("nccl log: of runs that differ widely the median counts, with a note") {
  std::string rows;
  for (const char* us : {"51000", "591000", "59000", "61000"})
    rows += "1073741824 268435456 float sum -1 " + std::string(us) + " 1 1 0 " + us + " 1 1 0\n" +
            "1024 256 float sum -1 10.0 1 1 0 11.0 1 1 0\n";
  const Measurement measurement = read_measurement(text_of(title + rows, 2));
  const Series& out = series_of(measurement, false);
  REQUIRE(out.points.size() == 2);
  CHECK(out.points[1].time == Duration::ms(60));
  CHECK(has_note(measurement,
                 "of 1 GiB among 2: 4 runs took from 51 ms to 591 ms; the median is used"));
  CHECK_FALSE(has_note(measurement, "1 KiB"));
}

TEST_CASE("nccl log: several tables, each with its own test and ranks") {
  const std::string rows =
      "1048576 1 float sum -1 100.0 10.49 18.35 0 100.0 10.49 18.35 0\n"  // 7/4: 8 ranks
      "8388608 1 float sum -1 800.0 10.49 18.35 0 800.0 10.49 18.35 0\n";
  const std::string gather =
      "1048576 1 float none -1 100.0 10.49 7.86 0 100.0 10.49 7.86 0\n";  // 3/4: 4 ranks
  const Measurement measurement = read_measurement(
      text_of(title + rows + rows + "# Collective test starting: all_gather_perf\n" + gather));
  REQUIRE(measurement.series.size() == 4);
  CHECK(measurement.series[0].operation == "allreduce");
  CHECK(measurement.series[0].ranks == 8);
  CHECK(measurement.series[0].points.size() == 2);
  CHECK(measurement.series[2].operation == "allgather");
  CHECK(measurement.series[2].ranks == 4);
}

// One test that is no collective of ours between others: its rows belong to none of them.
TEST_CASE("nccl log: a test that is not known, and an operation that is asked for") {
  const std::string rows =
      "1048576 1 float sum -1 100.0 10.49 18.35 0 100.0 10.49 18.35 0\n"
      "2097152 1 float sum -1 200.0 10.49 18.35 0 200.0 10.49 18.35 0\n";
  const std::string start = "# Collective test starting: ";
  const std::string slow = "1024 256 float 0 10.0 0.10 0.10 0 10.0 0.10 0.10 0\n";
  const std::string log =
      title + rows + start + "hypercube_perf\n" + rows + start + "gather_perf\n" +
      "1048576 1 float 0 100.0 10.49 9.18 0 100.0 10.49 9.18 0\n" + start + "broadcast_perf\n";
  const Measurement measurement = read_measurement(text_of(log));
  REQUIRE(measurement.series.size() == 4);
  CHECK(measurement.series[0].points.size() == 2);
  CHECK(measurement.series[2].operation == "gather");
  CHECK(measurement.series[2].ranks == 8);  // 7/8
  CHECK(has_note(measurement, "2 lines dropped: hypercube_perf is no operation known here"));
  // A broadcast does not say how many took part, which matters only where it is asked for.
  CHECK_THROWS_WITH_AS(read_measurement(text_of(log + slow)), doctest::Contains("give --ranks"),
                       InputError);
  CHECK(read_measurement(text_of(log + slow, {}, "allreduce")).series[0].ranks == 8);
}

// Before 2.0.1: milliseconds, with three decimals. 10 MB at 6.14 GB/s are 1.628 ms, among 4 ranks
// at 6.14 * 3/2 = 9.21 GB/s.
TEST_CASE("nccl log: times in milliseconds") {
  const std::string head =
      "#      bytes             N    type      op     time  algbw  busbw      res\n";
  std::string log = "# Using devices\n";
  for (int i = 0; i < 4; ++i)
    log += "#   Device  " + std::to_string(i) + " ->  " + std::to_string(i) + " [0x0a] Example\n";
  const std::string small = "  40 10 int sum 0.030 0.00 0.00 0e+00 0.031 0.00 0.00 0e+00\n";
  const std::string large =
      "  10000000 2500000 int sum 1.628 6.14 9.21 0e+00 1.932 5.18 7.77 0e+00\n";
  for (const std::string& rows : {head + small + large, small + large, head + small}) {
    const Measurement measurement =
        read_measurement(text_of("./build/test/single/all_reduce_test 10000000\n" + log + rows));
    CHECK(measurement.notes.empty());
    CHECK(measurement.device == "Example");
    CHECK(series_of(measurement, false).operation == "allreduce");
    CHECK(series_of(measurement, false).ranks == 4);
    CHECK(series_of(measurement, false).points[0].time == Duration::us(30));
    CHECK(series_of(measurement, true).points[0].time == Duration::us(31));
    if (rows.find("1.628") != std::string::npos)
      CHECK(series_of(measurement, false).points[1].time == Duration::us(1628));
  }
}

// Every order of the rows is the same measurement, also where small sizes do not tell the ranks.
TEST_CASE("nccl log: rows in any order") {
  std::vector<std::string> rows;
  for (int i = 0; i < 24; ++i) {
    const int64_t size = int64_t{64} << i;
    const double us = 20 + static_cast<double>(size) / 1e5;
    const double algbw = static_cast<double>(size) / us / 1e3;
    std::array<char, 160> row{};
    std::snprintf(row.data(), row.size(), "%ld 1 float sum -1 %.2f %.2f %.2f 0 N/A N/A N/A N/A\n",
                  static_cast<long>(size), us, algbw, algbw * 2 * 31 / 32);
    rows.emplace_back(row.data());
  }
  for (uint64_t seed = 0; seed < 20; ++seed) {
    Random random(seed);
    for (std::size_t i = rows.size() - 1; i > 0 && seed > 0; --i)
      std::swap(rows[i], rows[random.below(i + 1)]);
    std::string log = title;
    for (const std::string& row : rows) log += row;
    const Measurement measurement = read_measurement(text_of(log));
    REQUIRE(measurement.series.size() == 1);
    CHECK(measurement.series[0].ranks == 32);
    CHECK(measurement.series[0].points.size() == 24);
  }
}

// ---- samples of every format

TEST_CASE("measurements: a sample of every format") {
  const Measurement log = read_measurement(sample("nccl_tests.log"));
  CHECK(log.device == "Example GPU");
  CHECK(log.notes.empty());
  CHECK(series_of(log, false).ranks == 4);
  CHECK(series_of(log, false).points.size() == 8);
  CHECK(series_of(log, true).points.back().time == Duration::us(10774));

  const Measurement json = read_measurement(sample("nccl_tests.json"));
  CHECK(json.notes.empty());
  CHECK(series_of(json, false).operation == "reduce_scatter");
  CHECK(series_of(json, false).ranks == 4);
  REQUIRE(series_of(json, false).points.size() == 3);
  CHECK(series_of(json, false).points[1].size == Bytes(4194304));
  CHECK(series_of(json, false).points[1].time == Duration::us(60));

  const Measurement rccl = read_measurement(sample("rccl_tests.jsonl"));
  CHECK(rccl.notes.empty());
  CHECK(series_of(rccl, true).operation == "allreduce");
  CHECK(series_of(rccl, true).ranks == 8);
  CHECK(series_of(rccl, true).points.size() == 3);

  const Measurement osu = read_measurement(sample("osu_allreduce.log", 4));
  CHECK(osu.notes.empty());
  CHECK(osu.series.at(0).operation == "allreduce");
  CHECK(osu.series[0].ranks == 4);
  REQUIRE(osu.series[0].points.size() == 6);
  CHECK(osu.series[0].points[0].time == Duration::ns(11690));
  CHECK_THROWS_WITH_AS(read_measurement(sample("osu_allreduce.log")),
                       doctest::Contains("give --ranks"), InputError);

  const Measurement own = read_measurement(sample("measurement.json"));
  CHECK(own.series.size() == 6);
  CHECK(own.series[0].algorithm == "ring");
}

TEST_CASE("measurements: the sample of each format is known by its content alone") {
  for (const MeasurementFormat& format : measurement_formats) {
    INFO(std::string(format.name));
    const std::string text =
        read_text(std::string(SGDSIM_SOURCE_DIR) + "/" + std::string(format.example));
    for (const MeasurementFormat& other : measurement_formats) {
      if (other.fits(text)) {
        CHECK(other.name == format.name);
        break;
      }
    }
  }
}

TEST_CASE("measurements: broken lines of JSON formats are counted") {
  const std::string good =
      R"({"name":"AllReduce","size":64,"type":"float","inPlace":0,"time":9.5,"busBw":1,"gpus":8})";
  const Measurement rccl = read_measurement(
      text_of(good + "\nsome text\n0: " + good + ",\n" + good.substr(0, 40) + "\n{\"a\": 1}\n"));
  CHECK(rccl.series.at(0).points.size() == 1);
  CHECK(has_note(rccl, "2 lines dropped"));
  const Measurement nccl = read_measurement(text_of(
      R"({"args":["all_reduce_perf"],"results":[
          {"size":64,"type":"float","out_of_place":{"time":9.5,"alg_bw":0,"bus_bw":0}},
          {"size":128,"type":"float","out_of_place":{"time":"nan"}},
          {"type":"float","out_of_place":{"time":1}}, 7]})",
      2));
  CHECK(nccl.series.at(0).points.size() == 1);
  CHECK(has_note(nccl, "3 lines dropped"));
}

TEST_CASE("measurements: refused with a sentence") {
  struct Row {
    std::string text;
    std::string sentence;
  };
  const std::vector<Row> rows = {
      {"", "no measured times found"},
      {"hello\n", "no measured times found"},
      {title + "4096 1024 float sum -1 20.5 0.2\n", "no measured time is left; 1 line dropped"},
      {title + "4096 1024 float sum -1 0 0 0 0 0 0 0 0\n", "give --ranks"},
      {"4096 1024 float -1 20.5 0.2 0.2 0 20.5 0.2 0.2 0\n", "give --operation"},
      {"# OSU MPI Allreduce Latency Test\n", "no measured time is left"},
      {"# OSU MPI Barrier Latency Test\n8 1.0\n", "give --operation"},
      {"# OSU MPI Exscan Latency Test v7\n8 1.0\n", "\"OSU MPI Exscan Latency Test v7\""},
      {"# OSU MPI_Accumulate Latency Test v7\n8 1.0\n", "give --operation"},
      {"# Collective test starting: hypercube_perf\n4096 1024 float -1 20.5 0.2 0.2 0 20.5 0.2 0.2 "
       "0\n",
       "hypercube_perf is no operation known here"},
      {"{\"schema\": \"sgdsim/trace/1\"}", "expected \"sgdsim/measurement/1\""},
      {"{\"schema\": \"sgdsim/measurement/1\", \"series\": [], \"colour\": 1}", "colour"},
      {"{\"schema\": \"sgdsim/measurement/1\", \"series\": []}", "no measured time is left"},
      {"{\"schema\": \"sgdsim/measurement/1\", \"series\": [{\"operation\": \"alreduce\"}]}",
       "allreduce"},
      {"{\"results\": []}", "no measured time is left"},
      {"{\"results\": ", "some.log"},
      {"{\"results\": 7}", "expected an array"},
  };
  for (const Row& row : rows) {
    INFO(row.text);
    CHECK_THROWS_WITH_AS(read_measurement(text_of(row.text)),
                         doctest::Contains(row.sentence.c_str()), InputError);
  }
}

TEST_CASE("measurements: words") {
  CHECK(whole_word("1_000") == 1000);
  CHECK_FALSE(whole_word("_1"));
  CHECK_FALSE(whole_word("1."));
  CHECK_FALSE(whole_word("-1"));
  CHECK_FALSE(whole_word("99999999999999999999"));
  CHECK(number_word("1.5e+01") == 15);
  CHECK_FALSE(number_word("inf"));
  CHECK_FALSE(number_word("1.5x"));
  CHECK_FALSE(measured_time(0));
  CHECK_FALSE(measured_time(-1));
  CHECK_FALSE(measured_time(1e-9));
  CHECK(measured_time(1.5) == Duration::ns(1500));
}

}  // namespace
}  // namespace sgdsim
