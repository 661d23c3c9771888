// Logs of the OSU micro-benchmarks: titles, columns, sizes and prefixes, on invented rows.
#include <algorithm>
#include <doctest/doctest.h>
#include <string>
#include <vector>

#include "tests/texts.h"
#include "traces/measurement/registry.h"

namespace sgdsim {
namespace {

MeasuredText text_of(const std::string& text, std::optional<int> ranks) {
  return {text, "some.log", ranks, ""};
}

TEST_CASE("measurements: tests of OSU that measure other things are series of their own") {
  const std::string row = "8 1.50\n1024 2.50\n";
  const Measurement all = read_measurement(text_of(
      "# OSU MPI Latency Test v5.6\n" + row + "# OSU MPI Bandwidth Test v5.6\n" + row +
          "# OSU MPI Bi-Directional Bandwidth Test v5.6\n" + row +
          "# OSU MPI Latency Test v7.3\n16 1.75\n" + "# OSU MPI Allreduce Latency Test v7.3\n" +
          row + "# OSU MPI Non-blocking Allreduce Latency Test v7.3\n" + row +
          "# OSU MPI All-to-All Personalized Exchange Latency Test v7.3\n" + row,
      2));
  std::vector<std::string> told;
  for (const Series& one : all.series)
    told.push_back(one.operation + "/" + one.note + "/" + std::to_string(one.points.size()));
  std::sort(told.begin(), told.end());
  CHECK(told == std::vector<std::string>{"allreduce//2", "allreduce/Non-blocking/2", "alltoall//2",
                                         "copy//3", "copy/Bandwidth/2",
                                         "copy/Bi-Directional Bandwidth/2"});
  CHECK(refusal_of([&] {
          read_measurement(
              text_of("# OSU MPI Neighborhood Allgather Latency Test v7.3\n" + row, 4));
        }).find("does not say which operation") != std::string::npos);
}

TEST_CASE("measurements: rows of OSU with wrong results are dropped") {
  const Measurement read = read_measurement(
      text_of("# OSU MPI Allreduce Latency Test v7.3\n# Datatype: MPI_INT.\n"
              "# Size Avg Latency(us) Validation\n4 1.50 Pass\n8 1.60 Fail\n16 1.70 Pass\n",
              8));
  REQUIRE(read.series.size() == 1);
  CHECK(read.series[0].points.size() == 2);
  CHECK(has_note(read, "1 line dropped: its results are wrong (Fail) (line 5)"));
}

// It folds within each rank, and sends nothing.
TEST_CASE("measurements: OSU's Reduce_local is left out") {
  const std::string local = "# OSU MPI Reduce_local Latency Test v7.4\n# Size Avg Latency(us)\n" +
                            std::string("1 0.10\n1048576 120.00\n");
  const std::string left_out = "benchmarks of other patterns were left out: Reduce_local";
  const Measurement beside =
      read_measurement(text_of(local + "# OSU MPI Reduce Latency Test v7.4\n1024 2.50\n", 4));
  REQUIRE(beside.series.size() == 1);
  CHECK(beside.series[0].operation == "reduce");
  REQUIRE(beside.series[0].points.size() == 1);
  CHECK(beside.series[0].points[0].time == Duration::ns(2500));
  CHECK(has_note(beside, left_out));
  CHECK(holds(refusal_of([&] { read_measurement(text_of(local, {})); }), left_out));
}

// Of a host's memory and of a GPU's, which are different links.
TEST_CASE("measurements: tests of OSU in different memory are series of their own") {
  const std::string cuda = "# OSU MPI-CUDA Latency Test v7.5\n";
  const auto notes_of = [](const std::string& text) {
    std::vector<std::string> told;
    for (const Series& one : read_measurement(text_of(text, {})).series) told.push_back(one.note);
    return told;
  };
  using Notes = std::vector<std::string>;
  CHECK(notes_of("# OSU MPI Latency Test v7.5\n8 1.5\n" + cuda + "8 2.0\n") == Notes{"", "CUDA"});
  CHECK(notes_of("$ mpirun -n 2 osu_latency -m 1:1 -d cuda D D\n" + cuda + "8 2.48\n" +
                 "$ mpirun -n 2 osu_latency -m 1:1 -d cuda H D\n" + cuda + "8 1.30\n") ==
        Notes{"CUDA from D to D", "CUDA from H to D"});
  CHECK(notes_of(cuda + "# Send Buffer on DEVICE (D) and Receive Buffer on HOST (H)\n8 2.0\n") ==
        Notes{"CUDA from D to H"});
  CHECK(read_measurement(text_of("# OSU NCCL-CUDA Latency Test v7.5\n8 1.5\n", {}))
            .series.at(0)
            .operation == "copy");
}

TEST_CASE("measurements: OSU titles, bandwidths, counts of ranks in the first column") {
  const auto first = [](const std::string& text, std::optional<int> ranks) {
    const Measurement measurement = read_measurement(text_of(text, ranks));
    return measurement.series.at(0);
  };
  CHECK(first("# OSU MPI Broadcast Latency Test v5.6\n# Size\n8 1.5\n", 4).operation ==
        "broadcast");
  CHECK(first("# OSU MPI Reduce_scatter Latency Test v5.6\n8 1.5\n", 4).operation ==
        "reduce_scatter");
  CHECK(first("# OSU MPI-CUDA Latency Test v7.0\n8 1.5\n", {}).operation == "copy");
  CHECK(first("# OSU MPI-CUDA Latency Test v7.0\n8 1.5\n", {}).ranks == 2);
  // 1e6 bytes at 500 MB/s are 2 ms.
  const Series bandwidth = first("# OSU MPI Bandwidth Test v7.0\n1000000 500.00\n", {});
  CHECK(bandwidth.operation == "copy");
  CHECK(bandwidth.points[0].time == Duration::ms(2));
  const Series numbered =
      first("# OSU MPI Allreduce Latency Test v5.4.0\n8,4 39.9\n8,8 40.1\n", {});
  CHECK(numbered.ranks == 8);
  CHECK(numbered.points[1].size == Bytes(8));
  CHECK(has_note(read_measurement(text_of("# OSU MPI Allreduce Latency Test\n8,4 39.9\n8,16", {})),
                 "1 line dropped"));
  // Their sizes are one rank's; ours are those of all. Reduce-scatter prints the whole.
  for (const std::string name :
       {"Allgather", "All-to-All Personalized Exchange", "Gather", "Scatter"})
    CHECK(first("# OSU MPI " + name + " Latency Test v7.0\n8 1.5\n", 4).points[0].size ==
          Bytes(32));
  CHECK(first("# OSU MPI Reduce_scatter Latency Test v7.0\n8 1.5\n", 4).points[0].size == Bytes(8));
  CHECK(first("# OSU MPI Scatter Latency Test v7.0\n8 1.5\n", 4).operation == "scatter");
  // Communication alone, without the computation that was to hide it.
  const Series hidden = first(
      "# OSU MPI Non-blocking Broadcast Latency Test v7.0\n"
      "# Size    Overall(us)    Compute(us)    Pure Comm.(us)    Overlap(%)\n8 9.5 5.5 4.25 30\n",
      4);
  CHECK(hidden.operation == "broadcast");
  CHECK(hidden.points[0].time == Duration::ns(4250));
  // Four pairs share 2000 MB/s; two directions share 1000 MB/s.
  CHECK(
      first("# OSU MPI Multiple Bandwidth / Message Rate Test v7.0\n# [ pairs: 4 ] [ window size: "
            "64 ]\n1000000 2000.00 2000\n",
            {})
          .points[0]
          .time == Duration::ms(2));
  CHECK(
      first("# OSU MPI Bi-Directional Bandwidth Test v7.0\n1000000 1000.00\n", {}).points[0].time ==
      Duration::ms(2));
  // Prefixes, colours, commas, the mark of UTF-8.
  for (const std::string& log :
       {std::string("[1,0]<stdout>:# OSU MPI Allreduce Latency Test\n[1,0]<stdout>:# Size\n"
                    "[1,0]<stdout>:8 1.5\n"),
        std::string("pod-0 2025-01-02T03:04:05Z # OSU MPI Allreduce Latency Test\n"
                    "pod-0 2025-01-02T03:04:06Z 8 1.5\n"),
        std::string("# OSU MPI Allreduce Latency Test\n# Size, Avg Latency(us)\n8, 1.5\n"),
        std::string("# OSU MPI Allreduce Latency Test\n# Size, Avg Latency(us)\n8,1.5,1.2\n"),
        std::string("\xef\xbb\xbf# OSU MPI Allreduce Latency Test\r\n\x1b[1m8 1.5\x1b[0m\r\n")}) {
    INFO(log);
    const Measurement measurement = read_measurement(text_of(log, 4));
    CHECK(measurement.notes.empty());
    CHECK(measurement.series.at(0).points.at(0).size == Bytes(8));
    CHECK(measurement.series[0].points[0].time == Duration::ns(1500));
  }
  // "8,1024" is no size, so that "8,192" beside it is none. Alone it may be both, as tables with
  // separators of thousands have it ("1,048,576" is neither).
  const std::string title = "# OSU MPI Allreduce Latency Test v5.4.0\n";
  CHECK(first(title + "8,192 39.9\n8,1024 40.1\n", {}).ranks == 8);
  for (const char* rows : {"8,192 39.9\n", "512 9.0\n1,024 10.0\n1,048,576 99.0\n"})
    CHECK(refusal_of([&] { read_measurement(text_of(title + rows, 16)); }).find("or one size") !=
          std::string::npos);
  CHECK(
      has_note(read_measurement(text_of(title + "8 0.00\n16 1.50\n0 1.2\n32 9e20\n", 4)),
               "2 lines dropped: no time, or none that can be (0, N/A, more than an hour) (first: "
               "line 2)"));
  // A last line that ends within its number.
  const Measurement cut =
      read_measurement(text_of("# OSU MPI Broadcast Latency Test\n8 1.50\n16 1.7", 2));
  CHECK(cut.series[0].points.size() == 1);
  CHECK(has_note(cut, "1 line dropped"));
  CHECK(read_measurement(text_of("# OSU MPI Broadcast Latency Test\n8 1.50\n16 1.75", 2))
            .series[0]
            .points.size() == 2);
}

}  // namespace
}  // namespace sgdsim
