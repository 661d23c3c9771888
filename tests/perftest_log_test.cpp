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
  // Later versions say MiB; of another unit nothing is known.
  const auto with_unit = [](const std::string& unit) {
    std::string text = write_bw;
    for (std::size_t at = 0; (at = text.find("MB/sec", at)) != std::string::npos;)
      text.replace(at, 6, unit);
    return text_of(text + " 1048576 5000 1200.00 1000.00 0.001\n");
  };
  CHECK(read_measurement(with_unit("MiB/sec")).series.at(0).points.at(0).time == Duration::ms(1));
  CHECK_THROWS_AS(read_measurement(with_unit("GB/sec")), InputError);
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
  // With -D only the mean is printed: 1 / (2 * 99.03 us) are 5,049 both ways a second.
  const Measurement mean = read_measurement(text_of(
      "                    Send Latency Test\n #bytes        #iterations       t_avg[usec]    "
      "tps average\n 64            151456            99.03          5048.78\n"));
  CHECK(mean.series.at(0).points.at(0).time == Duration::ns(99'030));
  CHECK(has_note(mean, "t_avg is read"));
  CHECK_FALSE(has_note(one, "t_avg is read"));
}

TEST_CASE("perftest: broken rows are dropped and counted, and nothing is no measurement") {
  for (const char* row : {"65536 5000\n", "65536 5000 1.0 nan 1\n", "0 5000 1 1 1\n",
                          "65536 5000 1.0 -3 1\n", "65536 5000 1.0 0.00 1\n",
                          "65,536 5000 1 1000.00 1\n", "9223372036854775807 5000 1 1 1\n"}) {
    INFO(row);
    const Measurement measurement =
        read_measurement(text_of(write_bw + row + "1048576 5000 1 1000.00 1\n"));
    CHECK(measurement.series.at(0).points.size() == 1);
    CHECK(has_note(measurement, "1 line dropped"));
  }
  CHECK_THROWS_AS(read_measurement(text_of(write_bw)), InputError);
  CHECK_THROWS_WITH_AS(read_measurement(text_of(
                           "RDMA\xff BW Test\n#bytes #iterations BW average[MB/sec]\n9 9 1.00\n")),
                       doctest::Contains("is not UTF-8"), InputError);
}

// 2 bytes at 4 million messages a second are 64 Mb/s, which two decimals of a Gb/s say as 0.06;
// half a microsecond is 2 million a second, 0.03. Large messages have more digits of their
// bandwidth.
TEST_CASE("perftest: of bandwidth and message rate the one with more digits counts") {
  const std::string head =
      " BW Test\n#bytes #iterations BW peak[Gb/sec] BW average[Gb/sec] MsgRate[Mpps]\n";
  const auto time_of = [&](const std::string& title, const std::string& row) {
    const Measurement one = read_measurement(text_of(title + head + row + "\n"));
    CHECK(one.notes.empty());
    return one.series.at(0).points.at(0).time;
  };
  CHECK(time_of("RDMA_Write", "2 5000 0.00 0.06 4.000000") == Duration::ns(250));
  CHECK(time_of("RDMA_Write", "2 5000 0.00 0.03 2.000000") == Duration::ns(500));
  CHECK(time_of("RDMA_Write", "2 5000 0.00 0.00 0.200000") == Duration::us(5));
  CHECK(time_of("RDMA_Write", "1000000 5000 0.00 8.00 0.001") == Duration::ms(1));
  // A rate of something else is no matter.
  CHECK(time_of("RDMA_Write", "1000000 5000 0.00 8.00 6.580000") == Duration::ms(1));
  // Of two directions bandwidth is the sum, and so is the rate, or it is that of one.
  CHECK(time_of("RDMA_Write Bidirectional", "20 5000 0.00 0.64 4.000000") == Duration::ns(500));
  CHECK(time_of("RDMA_Write Bidirectional", "20 5000 0.00 0.64 2.000000") == Duration::ns(500));
  // Without a rate nothing is known of 0.00.
  const Measurement none = read_measurement(
      text_of("Send BW Test\n#bytes #iterations BW peak[Gb/sec] BW average[Gb/sec]\n2 5000 0.00 "
              "0.00\n1000000 5000 0.00 8.00\n"));
  CHECK(none.series.at(0).points.size() == 1);
  CHECK(has_note(none, "1 line dropped: no time, or none that can be"));
  CHECK(has_note(none, "(line 3)"));
}

// The row says 6.02 us, and the file ends within it.
TEST_CASE("perftest: a last row that was cut within its number is dropped") {
  const std::string row = " 2 1000 1.76 6.12 1.79 1.80 0.06 1.88 6.12\n";
  const auto points = [&](const std::string& last) {
    const Measurement one = read_measurement(text_of(send_lat + row + last));
    CHECK(has_note(one, "1 line dropped") == (one.series.at(0).points.size() == 1));
    return one.series.at(0).points.size();
  };
  for (const char* cut : {"4 1000", "4 1000 5.98 9.99 6", "4 1000 5.98 9.99 6.0"})
    CHECK(points(cut) == 1);
  CHECK(points("4 1000 5.98 9.99 6.02") == 1);  // or 6.025
  for (const char* whole : {"4 1000 5.98 9.99 6.02 6", "4 1000 5.98 9.99 6.02 6.10 0.1 7.00 9.99"})
    CHECK(points(whole) == 2);
  // The deciding number is the last one here; and with the rate cut off the bandwidth is left.
  const std::string old =
      "Send Latency Test\n#bytes #iterations t_min[usec] t_max[usec] t_typical[usec]\n";
  CHECK(read_measurement(text_of(old + "2 1000 1.7 6.1 1.79\n4 1000 5.98 9.99 6.0"))
            .series.at(0)
            .points.size() == 1);
  CHECK(read_measurement(text_of(old + "2 1000 1.7 6.1 1.79\n4 1000 5.98 9.99 6.02"))
            .series.at(0)
            .points.size() == 2);
  const Measurement rate = read_measurement(
      text_of(write_bw + "1048576 5000 1200.00 1000.00 0.001000\n2 5000 3.83 3.81 1.9"));
  REQUIRE(rate.series.at(0).points.size() == 2);
  // 2 B / (3.81 * 2^20 B/s)
  CHECK(rate.series[0].points[0].time.us() == doctest::Approx(0.50062).epsilon(1e-5));
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
