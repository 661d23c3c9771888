// Lines of NCCL's Inspector: joined over ranks, checked against their own bandwidth, and refused
// where they contradict it. The sample has 2 ranks; an all-reduce of s bytes takes
// 20 us + s / (10 GB/s), rank 0 comes 7 us before rank 1, and their clocks are 0.5 s apart.
#include <doctest/doctest.h>
#include <sstream>

#include "sim/core/error.h"
#include "sim/core/json.h"
#include "tests/run_program.h"
#include "tests/texts.h"
#include "traces/measurement/registry.h"

namespace sgdsim {
namespace {

const std::string folder = std::string(SGDSIM_SOURCE_DIR) + "/tests/data/";

std::vector<MeasuredText> sample(const std::vector<int>& ranks) {
  std::vector<MeasuredText> texts;
  for (const int rank : ranks) {
    const std::string name = "nccl_inspector_rank" + std::to_string(rank) + ".jsonl";
    texts.push_back({read_text(folder + name), name, {}, ""});
  }
  return texts;
}

Measurement read(const std::vector<MeasuredText>& texts) {
  const auto all = read_measurements(texts);
  REQUIRE(all.size() == 1);
  return all.front().measurement;
}

Measurement read_lines(const std::string& lines) { return read({{lines, "f", {}, ""}}); }

const Series& series_of(const Measurement& measurement, const std::string& operation) {
  for (const Series& series : measurement.series)
    if (series.operation == operation) return series;
  REQUIRE_MESSAGE(false, operation);
  return measurement.series.front();
}

// One line of a rank, with the bandwidth that belongs to its size.
struct Line {
  std::string coll = "AllReduce";
  int64_t number = 0;
  int64_t size_B = 1'000'000;
  int64_t us = 100;
  double busbw_GBps = 10;
  int rank = 0;
  int ranks = 2;
  std::string id = "0x1";
  std::string more{};
};

std::string text_of(const Line& line) {
  std::ostringstream out;
  out.precision(12);
  out << R"({"header":{"id":")" << line.id << R"(","rank":)" << line.rank << R"(,"n_ranks":)"
      << line.ranks << R"(},"coll_perf":{"coll":")" << line.coll << R"(","coll_sn":)" << line.number
      << R"(,"coll_msg_size_bytes":)" << line.size_B << R"(,"coll_exec_time_us":)" << line.us
      << R"(,"coll_busbw_gbs":)" << line.busbw_GBps << line.more << "}}\n";
  return out.str();
}

TEST_CASE("nccl inspector: the least time over the ranks is the transfer") {
  for (const std::vector<int>& order : {std::vector<int>{0, 1}, std::vector<int>{1, 0}}) {
    const Measurement measurement = read(sample(order));
    REQUIRE(measurement.series.size() == 3);
    const Series& all = series_of(measurement, "allreduce");
    CHECK(all.group == "dp 0x51a7, 1 node");
    CHECK(all.ranks == 2);
    REQUIRE(all.points.size() == 4);
    for (const MeasuredPoint& point : all.points)
      CHECK(point.time == Duration::us(20 + point.size.count() / 10'000));
    // Each line states half of the bytes, that of one rank.
    const Series& scattered = series_of(measurement, "reduce_scatter");
    REQUIRE(scattered.points.size() == 4);
    CHECK(scattered.points[0].size == Bytes(100'000));
    CHECK(scattered.points[0].time == Duration::us(15));
    const Series& copies = series_of(measurement, "copy");
    REQUIRE(copies.points.size() == 1);
    CHECK(copies.points[0].time == Duration::us(100));
    // Reduce-scatters have no stamps, so that times tell.
    CHECK(has_note(measurement,
                   "dp 0x51a7, 1 node: of 2 ranks, rank 1 came last most often, in 4 of 8 "
                   "collectives, in the median 7 us after the first"));
  }
}

TEST_CASE("nccl inspector: clocks that are apart are aligned by the stop stamps") {
  std::string lines;
  // Rank 1 comes 300 us later on its clock, which is 1 s ahead; a third rank is in between.
  for (int64_t number = 0; number < 5; ++number)
    for (int rank = 0; rank < 3; ++rank) {
      const int64_t late = rank == 1 ? 300 : rank == 2 ? 100 : 0;
      const int64_t us = 1000 - late;
      const int64_t start = 5'000'000 + number * 10'000 + late + (rank == 1 ? 1'000'000 : 0);
      lines += text_of({.number = number,
                        .us = us,
                        .busbw_GBps = 4000. / 3 / static_cast<double>(us),
                        .rank = rank,
                        .ranks = 3,
                        .more = R"(,"event_trace_ts":{"coll_start_ts":)" + std::to_string(start) +
                                R"(,"coll_stop_ts":)" + std::to_string(start + us) + "}"});
    }
  const Measurement measurement = read_lines(lines);
  CHECK(
      has_note(measurement,
               "0x1: of 3 ranks, rank 1 came last most often, in 5 of 5 collectives, in the "
               "median 300 us after the first (start stamps, clocks aligned by the stop stamps)"));
  CHECK(series_of(measurement, "allreduce").points.at(0).time == Duration::us(700));
}

TEST_CASE("nccl inspector: the bandwidth tells whose bytes the size counts") {
  struct Row {
    std::string reason;
    Line line;
    int64_t size_B;  // of all ranks; 0: refused
  };
  // 1 MB in 100 us are 10 GB/s. 4 ranks: factors 1.5, 0.75 and 1.
  const std::vector<Row> rows = {
      {"all-reduce", {.busbw_GBps = 15, .ranks = 4}, 1'000'000},
      {"broadcast", {.coll = "Broadcast", .busbw_GBps = 10, .ranks = 4}, 1'000'000},
      {"all-gather, all", {.coll = "AllGather", .busbw_GBps = 7.5, .ranks = 4}, 1'000'000},
      {"all-gather, one", {.coll = "AllGather", .busbw_GBps = 30, .ranks = 4}, 4'000'000},
      {"reduce-scatter, one", {.coll = "ReduceScatter", .busbw_GBps = 30, .ranks = 4}, 4'000'000},
      {"0.4 % off", {.busbw_GBps = 15.06, .ranks = 4}, 1'000'000},
      {"0.6 % off", {.busbw_GBps = 15.09, .ranks = 4}, 0},
      {"a digit lost", {.us = 10, .busbw_GBps = 15, .ranks = 4}, 0},
      {"neither", {.coll = "AllGather", .busbw_GBps = 15, .ranks = 4}, 0},
  };
  const std::string good = text_of({.size_B = 5'000'000, .busbw_GBps = 50, .id = "0x9"});
  for (const Row& row : rows) {
    INFO(row.reason);
    const Measurement measurement = read_lines(good + text_of(row.line));
    if (row.size_B == 0) {
      CHECK(measurement.series.size() == 1);
      CHECK(has_note(measurement, "1 line dropped: f: line 2 states "));
    } else {
      REQUIRE(measurement.series.size() == 2);
      CHECK(measurement.series[1].points.at(0).size == Bytes(row.size_B));
    }
  }
  CHECK(has_note(read_lines(good + text_of({.busbw_GBps = 12})),
                 "f: line 2 states 12 GB/s; its size, time and ranks give 10 GB/s"));
}

// The records that the plug-in's own README shows (NVIDIA/nccl, plugins/profiler/inspector).
TEST_CASE("nccl inspector: records of its README") {
  const Measurement measurement = read_lines(
      text_of({.size_B = 17'179'869'184, .us = 61'974, .busbw_GBps = 485.119099, .ranks = 8}) +
      text_of({.coll = "ReduceScatter",
               .size_B = 2'147'483'648,
               .us = 41'057,
               .busbw_GBps = 366.134533,
               .ranks = 8}));
  CHECK(series_of(measurement, "allreduce").points.at(0).size == Bytes(17'179'869'184));
  CHECK(series_of(measurement, "allreduce").points.at(0).time == Duration::us(61'974));
  CHECK(series_of(measurement, "reduce_scatter").points.at(0).size == Bytes(17'179'869'184));
}

TEST_CASE("nccl inspector: communicators stay apart") {
  const Measurement measurement = read_lines(
      text_of({.rank = 0}) + text_of({.us = 50, .busbw_GBps = 20, .rank = 1, .id = "0x2"}) +
      text_of({.busbw_GBps = 15, .rank = 1, .ranks = 4}));
  REQUIRE(measurement.series.size() == 3);
  for (const Series& series : measurement.series) CHECK(series.points.size() == 1);
}

TEST_CASE("nccl inspector: what is missing, repeated, broken or cut off is counted") {
  const std::string one = text_of({.number = 1});
  struct Row {
    std::string reason;
    std::string lines;
    std::string note;
  };
  const std::vector<Row> rows = {
      {"gap", one + text_of({.number = 5}), "gaps in coll_sn: 3 collectives are missing"},
      {"cut off", one + one.substr(0, 60), "1 line dropped: the file ends within the line"},
      {"broken", one + one.substr(0, 60) + "\n", "1 line dropped: no line of NCCL's Inspector"},
      {"rank beyond", one + text_of({.rank = 2}), "1 line dropped: no line of NCCL's"},
      {"no time", one + text_of({.number = 2, .us = 0}), "1 line dropped: no line of NCCL's"},
      {"unknown", one + text_of({.coll = "Hypercube"}), "no collective and no message known here"},
      {"repeated", one + one, "1 repeat dropped: the same rank and collective occurred before"},
      {"ranks missing", one, "1 collective of 1 without an entry of every rank"},
      {"sizes differ",
       one + text_of({.number = 2}) +
           text_of({.number = 2, .size_B = 2'000'000, .busbw_GBps = 20, .rank = 1}),
       "1 collective dropped: ranks name different sizes"},
      {"by the processor", text_of({.more = R"(,"coll_timing_source":"collective_cpu")"}),
       "1 line timed by the processor, not by the GPU"},
  };
  for (const Row& row : rows) {
    INFO(row.reason);
    CHECK(has_note(read_lines(row.lines), row.note));
  }
  CHECK_THROWS_WITH_AS(read_lines(R"({"header":{},"coll_perf":{}})"),
                       doctest::Contains("f: no measured time is left"), InputError);
  CHECK_THROWS_WITH_AS(read_lines("{\"header\":" + std::string(100'000, '[') + "\"coll_perf\""),
                       doctest::Contains("nested deeper than 64 levels"), InputError);
}

TEST_CASE("nccl inspector: import writes a measurement that reads back, and fit chooses groups") {
  const std::string rank0 = folder + "nccl_inspector_rank0.jsonl";
  const std::string rank1 = folder + "nccl_inspector_rank1.jsonl";
  const Ran import = call_sgdsim({"import", "nccl-inspector", rank0, rank1, "--name", "job"});
  CHECK(import.exit_code == 0);
  CHECK(import.log.find("rank 1 came last most often") != std::string::npos);
  const Measurement again = read_measurement({import.out, "out.json", {}, ""});
  const Measurement direct = read(sample({0, 1}));
  REQUIRE(again.series.size() == direct.series.size());
  for (std::size_t i = 0; i < again.series.size(); ++i) {
    CHECK(again.series[i].group == direct.series[i].group);
    REQUIRE(again.series[i].points.size() == direct.series[i].points.size());
    for (std::size_t k = 0; k < again.series[i].points.size(); ++k)
      CHECK(again.series[i].points[k].time == direct.series[i].points[k].time);
  }
  const Ran fit = call_sgdsim({"fit", rank0, rank1, "--op", "allreduce", "--group", "dp",
                               "--segments", "1", "--format", "json"});
  CHECK(fit.exit_code == 0);
  const Json json = Json::parse(fit.out);
  REQUIRE(json["fits"].size() == 1);
  CHECK(json["fits"][0]["pieces"][0]["alpha_us"].get<double>() == doctest::Approx(20));
  CHECK(json["fits"][0]["pieces"][0]["beta_ps_per_B"].get<double>() == doctest::Approx(100));
  CHECK(call_sgdsim({"fit", rank0, rank1, "--group", "tp"}).exit_code == 2);
  CHECK(call_sgdsim({"fit", rank0, rank1, "--group", "0x51a"}).exit_code ==
        2);  // words are not cut
}

TEST_CASE("nccl inspector: one link is not fitted to several communicators unless they are named") {
  std::string lines;
  for (const std::string id : {"0x1", "0x2"})
    for (int64_t number = 1; number < 6; ++number)
      lines +=
          text_of({.number = number, .size_B = 1'000'000 * number, .us = 100 * number, .id = id});
  const Temporary file(Temporary::Kind::file, lines);
  const Ran both = call_sgdsim({"fit", file.name(), "--from-collective", "ring"});
  CHECK(both.exit_code == 2);
  CHECK(both.log.find("--group: several groups of ranks were measured") != std::string::npos);
  CHECK(
      call_sgdsim({"fit", file.name(), "--from-collective", "ring", "--group", "0x2"}).exit_code ==
      0);
  CHECK(call_sgdsim({"fit", file.name()}).exit_code == 0);
}

}  // namespace
}  // namespace sgdsim
