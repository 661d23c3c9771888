// Logs of perftest, on invented rows; and messages of OSU beside collectives of more ranks.
#include <doctest/doctest.h>

#include "sim/core/error.h"
#include "sim/core/json.h"
#include "tests/run_program.h"
#include "tests/texts.h"
#include "traces/measurement/registry.h"

namespace sgdsim {
namespace {

MeasuredText text_of(const std::string& text, std::optional<int> ranks = {}) {
  return {text, "some.log", ranks, ""};
}

const std::string write_bw =
    "                    RDMA_Write BW Test\n Dual-port       : OFF\n"
    " #bytes     #iterations    BW peak[MB/sec]    BW average[MB/sec]   MsgRate[Mpps]\n";
const std::string send_lat =
    "                    Send Latency Test\n"
    " #bytes #iterations    t_min[usec]    t_max[usec]  t_typical[usec]    t_avg[usec]    "
    "t_stdev[usec]   99% percentile[usec]   99.9% percentile[usec]\n";

TEST_CASE("perftest: bandwidths are of 2^20 bytes, or of 10^9 bits") {
  // 1 MiB at 1,000 MB/s of 2^20 bytes is a millisecond.
  const Measurement one =
      read_measurement(text_of(write_bw + " 1048576 5000 1200.00 1000.00 0.001\n"));
  REQUIRE(one.series.size() == 1);
  CHECK(one.series[0].operation == "copy");
  CHECK(one.series[0].ranks == 2);
  CHECK(one.series[0].note == "RDMA_Write BW");
  CHECK(one.series[0].points.at(0).size == Bytes(1 << 20));
  CHECK(one.series[0].points[0].time == Duration::ms(1));
  // 10^6 bytes at 8 Gb/s are a millisecond; in two directions at once 16 Gb/s are.
  CHECK(read_measurement(text_of("Send BW Test\n#bytes #iterations BW peak[Gb/sec] BW "
                                 "average[Gb/sec] MsgRate[Mpps]\n1000000 5000 0.00 8.00 0.001\n"))
            .series.at(0)
            .points.at(0)
            .time == Duration::ms(1));
  const Measurement both = read_measurement(
      text_of("RDMA_Write Bidirectional BW Test\n#bytes #iterations BW peak[Gb/sec] BW "
              "average[Gb/sec]\n1000000 5000 0.00 16.00\n"));
  CHECK(both.series.at(0).points.at(0).time == Duration::ms(1));
  CHECK(both.series[0].note == "RDMA_Write Bidirectional BW");
}

TEST_CASE("perftest: of latencies the typical one counts") {
  const Measurement one =
      read_measurement(text_of(send_lat + " 2 1000 1.76 6.12 1.79 1.80 0.06 1.88 6.12\n"));
  CHECK(one.series.at(0).points.at(0).time == Duration::ns(1790));
  CHECK(one.series[0].note == "Send Latency");
  // Two tests in a file are two curves; warnings in between, prefixes and old columns are no
  // matter.
  const Measurement two = read_measurement(
      text_of(send_lat +
              "Conflicting CPU frequency values detected: 1500.0 != 3249.7. CPU Frequency is not "
              "max.\n 2 1000 1.76 6.12 1.79 1.80 0.06 1.88 6.12\n" +
              write_bw + " 1048576 5000 1200.00 1000.00 0.001\n"));
  CHECK(two.series.size() == 2);
  CHECK(two.notes.empty());
  const Measurement old = read_measurement(text_of(
      "[1,0]<stdout>: RDMA_Write Latency Test\n[1,0]<stdout>: #bytes #iterations    "
      "t_min[usec]    t_max[usec]  t_typical[usec]\n[1,0]<stdout>: 8 1000 0.9 3.00 1.00\n"));
  CHECK(old.series.at(0).points.at(0).time == Duration::us(1));
}

TEST_CASE("perftest: broken rows are dropped and counted, and nothing is no measurement") {
  for (const char* row :
       {"65536 5000\n", "65536 5000 1.0 nan 1\n", "0 5000 1 1 1\n", "65536 5000 1.0 -3 1\n",
        "65536 5000 1.0 0.00 1\n", "9223372036854775807 5000 1 1 1\n"}) {
    INFO(row);
    const Measurement measurement =
        read_measurement(text_of(write_bw + row + "1048576 5000 1 1000.00 1\n"));
    CHECK(measurement.series.at(0).points.size() == 1);
    CHECK(has_note(measurement, "1 line dropped"));
  }
  CHECK_THROWS_AS(read_measurement(text_of(write_bw)), InputError);
}

// tests/data/perftest_write_bw.log: messages of 0.5 us + 45 ps/B, one after the other.
TEST_CASE("perftest: a bandwidth becomes the line that made it") {
  const Ran ran = run_sgdsim(
      {"fit", "tests/data/perftest_write_bw.log", "--segments", "1", "--format", "json"});
  REQUIRE(ran.exit_code == 0);
  const Json piece = Json::parse(ran.out)["fits"][0]["pieces"][0];
  CHECK(piece["alpha_us"].get<double>() == doctest::Approx(0.5).epsilon(0.01));
  CHECK(piece["beta_ps_per_B"].get<double>() == doctest::Approx(45).epsilon(0.01));
}

TEST_CASE("OSU log: messages are among two, whatever the collectives beside them are among") {
  const Measurement latency =
      read_measurement(text_of("# OSU MPI-CUDA Latency Test v7.0\n8 1.5\n", 16));
  CHECK(latency.series.at(0).ranks == 2);
  const Measurement both = read_measurement(text_of(
      "# OSU MPI-CUDA Latency Test v7.0\n8 1.5\n# OSU MPI-CUDA Allreduce Latency Test v7.0\n8 9\n",
      16));
  REQUIRE(both.series.size() == 2);
  CHECK(both.series[0].ranks == 2);
  CHECK(both.series[1].ranks == 16);
  // --ranks, which the collectives need, does not leave the messages out.
  const Temporary messages(Temporary::Kind::file,
                           "# OSU MPI-CUDA Latency Test v7.0\n8 2.0008\n10000 3\n1000000 102\n");
  const Ran ran = run_sgdsim({"fit", messages.name(), "-p", "16", "--format", "json"});
  INFO(ran.log);
  REQUIRE(ran.exit_code == 0);
  CHECK(Json::parse(ran.out)["fits"][0]["series"][0]["ranks"] == 2);
}

}  // namespace
}  // namespace sgdsim
