// Logs with several tables of one operation: those that the log tells apart are series of their
// own, and all others repetitions, which a note says.
#include <doctest/doctest.h>

#include "sim/core/error.h"
#include "tests/texts.h"
#include "traces/measurement/registry.h"
#include "traces/measurement/run_command.h"

namespace sgdsim {
namespace {

Measurement measured_in(const std::string& text, std::optional<int> ranks = {}) {
  return read_measurement({text, "some.log", ranks, ""});
}

const Series& only_of(const Measurement& measurement, int ranks, const std::string& note = "") {
  const Series* found = nullptr;
  for (const Series& one : measurement.series)
    if (one.ranks == ranks && one.note == note && !one.in_place) {
      REQUIRE(found == nullptr);
      found = &one;
    }
  INFO(ranks, " ", note);
  REQUIRE(found != nullptr);
  return *found;
}

void check_us(const Series& series, const std::vector<int>& expected) {
  REQUIRE(series.points.size() == expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i)
    CHECK(series.points[i].time == Duration::us(expected[i]));
}

std::string osu_table(const std::string& small, const std::string& middle,
                      const std::string& large) {
  return "\n# OSU MPI Allreduce Latency Test v7.3\n# Size       Avg Latency(us)\n1024    " + small +
         "\n65536   " + middle + "\n1048576 " + large + "\n";
}

const std::string of_four = osu_table("10.00", "50.00", "400.00");
const std::string of_eight = osu_table("16.00", "80.00", "700.00");

}  // namespace

TEST_CASE("tables: the ranks of a command are those of its table") {
  const std::string both =
      "+ mpirun -np 4 ./osu_allreduce\n" + of_four + "+ mpirun -np 8 ./osu_allreduce\n" + of_eight;
  for (const std::optional<int> told : {std::optional<int>(), std::optional<int>(4)}) {
    const Measurement measurement = measured_in(both, told);
    CHECK(measurement.notes.empty());
    CHECK(measurement.series.size() == 2);
    check_us(only_of(measurement, 4), {10, 50, 400});
    check_us(only_of(measurement, 8), {16, 80, 700});
  }
  // What is told of all of them overrules the commands, which are told apart nevertheless.
  const Measurement other = measured_in(both, 16);
  check_us(only_of(other, 16, "-np 4"), {10, 50, 400});
  check_us(only_of(other, 16, "-np 8"), {16, 80, 700});
  CHECK(has_note(other, "taken as told: 16"));
  CHECK(has_note(other, "tables of allreduce among 16 differ in \"command\""));
  // Sizes are of all ranks, whose number is that of each table.
  const std::string gather = "# OSU MPI Allgather Latency Test v7.3\n# Size Avg Latency(us)\n";
  const Measurement parts =
      measured_in("$ srun --ntasks=2 osu_allgather\n" + gather +
                  "100 1.00\n$ srun -n 3 osu_allgather\n" + gather + "100 2.00\n");
  CHECK(only_of(parts, 2).points.at(0).size == Bytes(200));
  CHECK(only_of(parts, 3).points.at(0).size == Bytes(300));
}

TEST_CASE("tables: where nothing tells them apart they are repetitions, and a note says so") {
  const Measurement two = measured_in(of_four + of_eight, 4);
  check_us(only_of(two, 4), {13, 65, 550});
  CHECK(
      has_note(two, "2 tables of allreduce among 4 are taken as repetitions, whose median counts"));
  const std::string command = "+ mpirun -np 4 ./osu_allreduce -i 100\n";
  const Measurement three = measured_in(command + of_four + command + of_four + command + of_eight);
  check_us(only_of(three, 4), {10, 50, 400});
  CHECK(has_note(three, "3 tables of allreduce among 4"));
  // Other sizes are no repetition, whatever asked for them.
  const auto title = [](const std::string& sizes) {
    return "+ mpirun -np 4 ./osu_allreduce -m " + sizes +
           " > a\n# OSU MPI Allreduce Latency Test v7.3\n# Size  Avg Latency(us)\n";
  };
  const Measurement parts =
      measured_in(title("8:64") + "8 1.00\n64 2.00\n" + title("128:") + "128 3.00\n");
  check_us(only_of(parts, 4), {1, 2, 3});
  CHECK(parts.notes.empty());
}

TEST_CASE("tables: variables, types and windows that differ are series of their own") {
  const Measurement paths =
      measured_in("+ mpirun -np 4 -x UCX_TLS=rc ./osu_allreduce\n" + of_four +
                  "+ mpirun -np 4 -x UCX_TLS=tcp ./osu_allreduce\n" + of_eight);
  check_us(only_of(paths, 4, "-x UCX_TLS=rc"), {10, 50, 400});
  check_us(only_of(paths, 4, "-x UCX_TLS=tcp"), {16, 80, 700});
  const auto typed = [](const std::string& type, const std::string& us) {
    return "# OSU MPI Allreduce Latency Test v7.3\n# Datatype: " + type +
           ".\n# Size Avg Latency(us)\n8 " + us + "\n";
  };
  const Measurement types = measured_in(typed("MPI_INT", "2.00") + typed("MPI_CHAR", "4.00"), 4);
  check_us(only_of(types, 4, "Datatype MPI_INT"), {2});
  check_us(only_of(types, 4, "Datatype MPI_CHAR"), {4});
  const Measurement alike = measured_in(typed("MPI_INT", "2.00") + typed("MPI_INT", "4.00"), 4);
  check_us(only_of(alike, 4), {3});
}

TEST_CASE("tables: perftest with other settings is another curve") {
  // 1 MiB at 1,000 and at 500 MB/s of 2^20 bytes.
  const auto table = [](const std::string& pairs, const std::string& rate) {
    return "                    RDMA_Write BW Test\n Dual-port       : OFF\t\tDevice         : "
           "mlx5_0\n Number of qps   : " +
           pairs + "\t\tTransport type : IB\n local address: LID 0x01 QPN 0x0" + pairs +
           "85\n #bytes     #iterations    BW peak[MB/sec]    BW average[MB/sec]   "
           "MsgRate[Mpps]\n 1048576 5000 1200.00 " +
           rate + " 0.001\n";
  };
  const Measurement both = measured_in(table("1", "500.00") + table("8", "1000.00"));
  CHECK(both.series.size() == 2);
  check_us(only_of(both, 2, "RDMA_Write BW, Number of qps 1"), {2000});
  check_us(only_of(both, 2, "RDMA_Write BW, Number of qps 8"), {1000});
  const Measurement alike = measured_in(table("1", "500.00") + table("1", "1000.00"));
  check_us(only_of(alike, 2, "RDMA_Write BW"), {1500});
  CHECK(has_note(alike, "2 tables of copy among 2 (RDMA_Write BW) are taken as repetitions"));
}

// 1 MiB in 100 us is 10.49 GB/s, and 15.73 of a bus of four.
TEST_CASE("tables: runs of nccl-tests") {
  const auto head = [](const std::string& together) {
    return "# nThread 1 nGpus 4 minBytes 8 maxBytes 8 step: 2(factor) warmup iters: 5 iters: 20 "
           "agg "
           "iters: " +
           together + " validation: 1 graph: 0\n";
  };
  const std::string slow = "1048576 262144 float sum -1 200.0 5.24 7.86 0 200.0 5.24 7.86 0\n";
  const std::string fast = "1048576 262144 float sum -1 100.0 10.49 15.73 0 100.0 10.49 15.73 0\n";
  const std::string title = "# Collective test starting: all_reduce_perf\n";
  const Measurement aggregated =
      measured_in(title + head("1") + slow + title + head("16") + fast, 4);
  check_us(only_of(aggregated, 4, "agg iters: 1"), {200});
  check_us(only_of(aggregated, 4, "agg iters: 16"), {100});
  const Measurement chosen =
      measured_in("+ NCCL_ALGO=Ring ./all_reduce_perf -b 8\n" + title + head("1") + slow +
                      "+ NCCL_ALGO=Tree ./all_reduce_perf -b 1M\n" + title + head("1") + fast,
                  4);
  check_us(only_of(chosen, 4, "NCCL_ALGO=Ring"), {200});
  check_us(only_of(chosen, 4, "NCCL_ALGO=Tree"), {100});
  const auto says = [](const std::string& algorithm) {
    return "n1:77:77 [0] NCCL INFO NCCL_ALGO set by environment to " + algorithm + ".\n";
  };
  const Measurement printed = measured_in(
      title + head("1") + says("Ring") + slow + title + head("1") + says("Tree") + fast, 4);
  check_us(only_of(printed, 4, "NCCL_ALGO Ring"), {200});
  check_us(only_of(printed, 4, "NCCL_ALGO Tree"), {100});
  const Measurement again = measured_in(title + head("1") + slow + title + head("1") + fast, 4);
  check_us(only_of(again, 4), {150});
  CHECK(has_note(again, "2 tables of allreduce among 4 are taken as repetitions"));
  CHECK(again.notes.size() == 1);  // in place as out of place
}

TEST_CASE("tables: Intel's MPI Benchmarks") {
  const auto table = [](const std::string& us) {
    return "# Benchmarking Allreduce\n# #processes = 4\n #bytes #repetitions t_min[usec] "
           "t_max[usec] t_avg[usec]\n 1024 1000 1.00 9.00 " +
           us + "\n";
  };
  const Measurement alike = measured_in(table("2.00") + table("4.00"));
  check_us(only_of(alike, 4), {3});
  CHECK(has_note(alike, "2 tables of allreduce among 4"));
  const Measurement apart =
      measured_in("$ I_MPI_FABRICS=shm mpirun -n 4 IMB-MPI1 Allreduce\n" + table("2.00") +
                  "$ I_MPI_FABRICS=ofi mpirun -n 4 IMB-MPI1 Allreduce\n" + table("4.00"));
  check_us(only_of(apart, 4, "I_MPI_FABRICS=shm"), {2});
  check_us(only_of(apart, 4, "I_MPI_FABRICS=ofi"), {4});
}

// As of several files, whose series are joined once more.
TEST_CASE("tables: of several files as of one") {
  const auto together = [](Measurement first, const Measurement& second) {
    first.series.insert(first.series.end(), second.series.begin(), second.series.end());
    tidy(first, "some.log");
    return first;
  };
  const std::string rc = "+ mpirun -np 4 -x UCX_TLS=rc ./osu_allreduce\n";
  const std::string tcp = "+ mpirun -np 4 -x UCX_TLS=tcp ./osu_allreduce\n";
  const Measurement apart = together(measured_in(rc + of_four), measured_in(tcp + of_eight));
  check_us(only_of(apart, 4, "-x UCX_TLS=rc"), {10, 50, 400});
  check_us(only_of(apart, 4, "-x UCX_TLS=tcp"), {16, 80, 700});
  const Measurement alike = together(measured_in(rc + of_four), measured_in(rc + of_eight));
  check_us(only_of(alike, 4), {13, 65, 550});
  CHECK(has_note(alike, "2 tables of allreduce among 4 are taken as repetitions"));
}

TEST_CASE("commands: what a shell shows, and what only names a program") {
  const auto command = [](const std::string& line) {
    std::vector<std::string_view> words;
    split_words(line, words);
    return run_command_in(words, "osu_");
  };
  CHECK(command("[user@n1 ~]$ mpirun -np 4 a/osu_bw -m 8 -i 9 D D > out 2>&1")->text ==
        "mpirun -np 4 a/osu_bw D D");
  CHECK(command("++ A=1 /usr/bin/srun -N 2 --ntasks 16 osu_bw")->text ==
        "A=1 /usr/bin/srun -N 2 --ntasks 16 osu_bw");
  CHECK(command("./osu_bw")->ranks == 0);
  struct Row {
    std::string line;
    int ranks;
  };
  for (const Row& row : std::vector<Row>{{"mpirun -np 4 osu_bw", 4},
                                         {"mpiexec -n 12 -ppn 6 osu_bw -n 3", 12},
                                         {"srun -n8 osu_bw", 8},
                                         {"srun --nodes=2 --ntasks=6 osu_bw", 6},
                                         {"mpirun osu_bw", 0},
                                         {"mpirun -np x osu_bw", 0},
                                         {"mpirun -np 0 osu_bw", 0},
                                         {"mpirun -np 1 osu_bw : -np 1 osu_bw", 0},
                                         {"jsrun -n 2 -a 4 ./osu_bw", 0}}) {
    INFO(row.line);
    const auto found = command(row.line);
    CHECK((found ? found->ranks : 0) == row.ranks);
  }
  for (const char* line : {"run 1 of osu_bw", "osu_bw", "mpirun -np 4 IMB-MPI1", "8 1.0"})
    CHECK(!command(line));
}

}  // namespace sgdsim
