// Logs of Intel's MPI Benchmarks, on invented rows.
#include <doctest/doctest.h>

#include "sim/core/error.h"
#include "tests/repository.h"
#include "tests/run_program.h"
#include "tests/texts.h"
#include "traces/measurement/registry.h"

namespace sgdsim {
namespace {

const std::string imb_title = "# Benchmarking Allreduce \n# #processes = 4 \n";
const std::string imb_columns =
    "       #bytes #repetitions  t_min[usec]  t_max[usec]  t_avg[usec]\n";

MeasuredText imb_text(const std::string& text) { return {text, "some.log", {}, ""}; }

}  // namespace

TEST_CASE("IMB: each benchmark and number of processes is a series of its own") {
  const Measurement read =
      read_measurement(imb_text(read_text(SGDSIM_SOURCE_DIR "/tests/data/imb.log")));
  REQUIRE(read.series.size() == 4);
  const auto series = [&](const std::string& operation, int ranks) -> const Series& {
    for (const Series& one : read.series)
      if (one.operation == operation && one.ranks == ranks) return one;
    FAIL("no such series");
    return read.series.front();
  };
  CHECK(series("copy", 2).is_of_messages);
  CHECK(series("copy", 2).points.at(0).time == Duration::ns(2500));
  CHECK(series("allreduce", 2).points.size() == 2);  // no bytes are no point
  CHECK(series("allreduce", 4).points.at(1).time == Duration::us(203));
  // 1,024 bytes of each of four.
  CHECK(series("allgather", 4).points.at(0).size == Bytes(4096));
  CHECK(has_note(read, "benchmarks of other patterns were left out: Barrier"));
}

TEST_CASE("IMB: non-blocking collectives, launchers, broken rows") {
  const Measurement pure = read_measurement(imb_text(
      "# Benchmarking Iallreduce\n# #processes = 8\n #bytes #repetitions t_ovrl[usec] t_pure[usec] "
      "t_CPU[usec] overlap[%]\n 1024 1000 9.00 5.00 6.00 33.00\n"));
  REQUIRE(pure.series.size() == 1);
  CHECK(pure.series[0].operation == "allreduce");
  CHECK(pure.series[0].ranks == 8);
  CHECK(pure.series[0].note == "Iallreduce");
  CHECK(pure.series[0].points.at(0).time == Duration::us(5));
  const Measurement launched = read_measurement(
      imb_text("0: # Benchmarking Bcast\n0: # #processes = 4\n0: #bytes #repetitions t_min[usec] "
               "t_max[usec] t_avg[usec]\n0: 64 1000 1.00 3.00 2.00\n"));
  CHECK(launched.series.at(0).operation == "broadcast");
  CHECK(launched.series[0].points.at(0).time == Duration::us(2));
  const Measurement broken =
      read_measurement(imb_text(imb_title + imb_columns +
                                " 64 1000 1.00 3.00 2.00\n 128 1000 x\n 256 1000 1.00 "
                                "3.00 2.5"));
  CHECK(broken.series.at(0).points.size() == 1);
  CHECK(has_note(broken, "2 "));
  CHECK_THROWS_AS(read_measurement(imb_text(imb_title + imb_columns)), InputError);
  // Among one there is nothing to exchange, and what is left out is named without what it hides.
  const Measurement alone = read_measurement(imb_text(
      "# Benchmarking Allreduce\n# #processes = 1\n" + imb_columns + " 64 1000 1.00 3.00 2.00\n" +
      "# Benchmarking \x1b[2JPing\n# #processes = 2\n" + imb_columns + " 64 1000 1.00 3.00 2.00\n" +
      imb_title + imb_columns + " 64 1000 1.00 3.00 2.00\n"));
  REQUIRE(alone.series.size() == 1);
  CHECK(alone.series[0].ranks == 4);
  for (const std::string& note : alone.notes) CHECK(note.find('\x1b') == std::string::npos);
  // Columns without a benchmark are nobody's.
  CHECK_THROWS_AS(read_measurement(imb_text(imb_columns + " 64 1000 1.00 3.00 2.00\n")),
                  InputError);
}

// The fourth word of the first, "1.074", is no mean.
TEST_CASE("IMB: sizes that were not measured, and rows with defects, are no times") {
  const Measurement read = read_measurement(
      imb_text(imb_title + imb_columns + " 1024 1000 90.00 110.00 100.00\n" +
               " 4194304 out-of-mem.; needed X=   1.074 GB; use flag \"-mem X\" or "
               "MAX_MEM_USAGE>=X (IMB_mem_info.h)\n" +
               " 8388608 int-overflow.; The production rank*size caused int overflow\n" +
               " 16777216 time-out.; Time limit (secs_per_sample * msg_sizes_list_len) is over\n" +
               " 33554432 x 1.00 3.00 2.00\n"));
  REQUIRE(read.series.size() == 1);
  REQUIRE(read.series[0].points.size() == 1);
  CHECK(read.series[0].points[0].time == Duration::us(100));
  CHECK(has_note(read,
                 "3 lines dropped: not measured (out-of-mem., int-overflow or time-out) (first: "
                 "line 5)"));
  CHECK(has_note(read, "1 line dropped: broken or cut off within the row (line 8)"));

  const std::string checked =
      " #bytes #repetitions t_min[usec] t_max[usec] t_avg[usec] Mbytes/sec defects\n";
  const Measurement wrong =
      read_measurement(imb_text(imb_title + checked + " 1024 1000 9.90 10.10 10.00 102.40 0.00\n" +
                                " 1048576 40 200.00 206.00 203.00 5165.40 8192.00\n"));
  REQUIRE(wrong.series.at(0).points.size() == 1);
  CHECK(wrong.series[0].points[0].time == Duration::us(10));
  CHECK(has_note(wrong, "1 line dropped: its results are wrong (defects is not 0) (line 5)"));
}

TEST_CASE("IMB: other words above the repetitions are its own, too") {
  const std::string titles =
      "#    Intel(R) MPI Benchmarks 2021.7, MPI-1 part\n# Benchmarking Alltoall\n# #processes = "
      "8\n";
  for (const char* header :
       {" #bytes #rep.s t_min[usec] t_max[usec] t_avg[usec]\n",
        " #bytes #repetitions t_min[usec] t_max[usec] t_avg[usec] Mbytes/sec\n",
        " #bytes #reps t_min[usec] t_max[usec] t_avg[usec]\n"}) {
    const std::string rows =
        std::string(header) + " 64 1000 9.00 11.00 10.00\n 128 1000 9.00 11.00 12.00\n";
    const Measurement read = read_measurement(imb_text(titles + rows));
    REQUIRE(read.series.size() == 1);
    CHECK(read.series[0].operation == "alltoall");
    CHECK(read.series[0].ranks == 8);
    CHECK(read.series[0].points.at(0).size == Bytes(512));
    // Nobody's without titles, and perftest counts iterations.
    CHECK_THROWS_AS(read_measurement(imb_text(rows)), InputError);
  }
}

TEST_CASE("IMB: no other reader takes such columns for its own") {
  const Temporary log(Temporary::Kind::file, imb_title + imb_columns + " 64 1000 1.00 3.00 2.00\n");
  const Ran osu =
      call_sgdsim({"import", "osu-log", log.name(), "--ranks", "4", "--operation", "allreduce"});
  CHECK(osu.exit_code == 2);
  CHECK(osu.log.find("which imb-log reads") != std::string::npos);
  CHECK(call_sgdsim(
            {"fit", SGDSIM_SOURCE_DIR "/tests/data/imb.log", "--op", "allreduce", "--ranks", "4"})
            .exit_code == 0);
}

}  // namespace sgdsim
