// Several processes on the stand-in of MPI: results, times in step, and whatever may go wrong with
// any of them. Always a sentence, an end, and a file with what was measured before.
#include <csignal>
#include <doctest/doctest.h>

#include "tests/mpi_on_host/processes_on_host.h"

namespace sgdsim::mpi_on_host {
namespace {

using Words = std::vector<std::string>;

bool holds(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

const Words small = {"--backend",    "host",      "--ranks",    "3",     "-a",      "ring",
                     "--op",         "allreduce", "--from",     "1 KiB", "--to",    "2 KiB",
                     "--least",      "5",         "--most",     "5",     "--error", "100",
                     "--time-limit", "1000 s",    "--patience", "20 s",  "-q"};

// Where something fails, nobody waits for long; where nothing does, the machine may be slow.
Words hasty() {
  Words words = small;
  *(std::find(words.begin(), words.end(), "--patience") + 1) = "300 ms";
  return words;
}

// A record of something that failed reads, says so, and holds only times above 0.
void check_partial(const Ran& ran) {
  REQUIRE(ran.record);
  CHECK(ran.record->at("schema") == "sgdsim/measurement/1");
  CHECK(ran.record->at("complete") == false);
  for (const Json& series : ran.record->at("series"))
    for (const Json& point : series["points"]) CHECK(point["time_us"].get<double>() > 0);
}

}  // namespace

TEST_CASE("mpi on host: everything is right, with a rank for each process or several") {
  for (const int processes : {2, 4})
    for (const int looks : {0, 5}) {
      CAPTURE(processes);
      CAPTURE(looks);
      const Ran ran = run_processes(
          std::vector<Behaviour>(static_cast<std::size_t>(processes), {.looks = looks}),
          {"--backend", "host", "--ranks", "2,3,4,5,8", "--type", "float32,float16,bfloat16",
           "--probe", "collectives,gtopk,copy,pairs,fold,top_k,compress,overhead", "--from", "4 B",
           "--to", "3 KiB", "--block", "256 B", "--overlap", "--density", "0.3", "--verify-only"});
      for (const Answered& one : ran.processes) {
        CHECK(one.exit_code == 0);
        CHECK(one.has_left);
      }
      const std::string& log = ran.processes[0].log;
      CHECK(holds(log, " results are right"));
      CHECK_FALSE(holds(log, " is wrong"));
      for (int i = 1; i < processes; ++i)  // the first one speaks for all
        CHECK(ran.processes[static_cast<std::size_t>(i)].log.empty());
    }
}

TEST_CASE("mpi on host: a record says in how many processes and on which nodes the ranks were") {
  Words words = small;
  words[3] = "2,3,6";
  const Ran ran = run_processes({{.node = 0}, {.node = 0}, {.node = 1}}, words);
  for (const Answered& one : ran.processes) CHECK(one.exit_code == 0);
  REQUIRE(ran.record);
  CHECK(ran.record->at("complete") == true);
  const std::map<int, std::string> placements = {{1, "1 process on 1 node"},
                                                 {2, "2 processes on 1 node"},
                                                 {3, "3 processes on 2 nodes"},
                                                 {6, "6 ranks, 2 a process, on 2 nodes"}};
  for (const Json& series : ran.record->at("series")) {
    const int ranks = series["ranks"].get<int>();
    CHECK(series["placement"] == placements.at(ranks));
    CHECK(series["processes"] == std::min(ranks, 3));
    CHECK(series["nodes"] == (ranks > 2 ? 2 : 1));
    for (const Json& point : series["points"]) {
      CHECK(point["verified"] == true);
      CHECK(point["samples_us"].size() == 5);
    }
  }
  CHECK(holds(ran.record->at("notes").dump(), "3 processes on 2 nodes, MPI on the host v1"));
}

// The call that fails is one of the first process, or of another one.
TEST_CASE("mpi on host: whichever call fails, there is a sentence and what was measured") {
  const Ran whole = run_processes({{}, {}, {}}, small);
  REQUIRE(whole.record);
  int with_points = 0;
  for (const int process : {0, 2}) {
    const int calls = whole.processes[static_cast<std::size_t>(process)].calls;
    CHECK(calls > 400);
    for (int number = 1; number <= calls; number += number < 40 ? 1 : 13) {
      CAPTURE(process);
      CAPTURE(number);
      std::vector<Behaviour> behaviours(3);
      behaviours[static_cast<std::size_t>(process)].fails_at = number;
      const Ran ran = run_processes(behaviours, hasty());
      bool says_why = false;
      bool has_failed = false;
      for (const Answered& one : ran.processes) {
        CHECK(one.exit_code <= 1);
        has_failed = has_failed || one.exit_code == 1;
        says_why = says_why || holds(one.log, "MPI_ERR_OTHER") || holds(one.log, "did not answer");
      }
      CHECK(has_failed);
      const bool was_over = ran.record && ran.record->at("complete") == true;
      if (was_over) continue;  // it failed in saying good-bye
      CHECK(says_why);
      if (ran.record) check_partial(ran);
      if (ran.record && !ran.record->at("series").empty()) ++with_points;
    }
  }
  CHECK(with_points > 10);
}

TEST_CASE("mpi on host: a process that hangs or dies is given up, and the others end") {
  for (const int process : {0, 1})
    for (const int number : {3, 40, 200, 300, 400})
      for (const bool dies : {false, true}) {
        CAPTURE(process);
        CAPTURE(number);
        CAPTURE(dies);
        std::vector<Behaviour> behaviours(3);
        (dies ? behaviours[static_cast<std::size_t>(process)].dies_at
              : behaviours[static_cast<std::size_t>(process)].hangs_at) = number;
        const Ran ran = run_processes(behaviours, hasty());
        for (int i = 0; i < 3; ++i) {
          const Answered& one = ran.processes[static_cast<std::size_t>(i)];
          CHECK(one.exit_code == (dies && i == process ? 128 + SIGKILL : 1));
        }
        if (dies && process == 0) continue;  // nobody is left to say anything
        CHECK(holds(ran.processes[0].log, "did not answer in time"));
        if (number >= 300) check_partial(ran);
      }
}

TEST_CASE("mpi on host: a signal to one process ends all, with what was measured") {
  for (const int process : {0, 2}) {
    std::vector<Behaviour> behaviours(3);
    behaviours[static_cast<std::size_t>(process)].interrupted_at = 400;
    Words words = small;
    words[17] = "0.01";  // --error
    words[15] = words[13] = "100000";
    const Ran ran = run_processes(behaviours, words);
    for (const Answered& one : ran.processes) CHECK(one.exit_code > 0);
    CHECK(ran.processes[static_cast<std::size_t>(process)].exit_code == 130);
    check_partial(ran);
    CHECK_FALSE(ran.record->at("series").empty());
  }
}

TEST_CASE("mpi on host: a wrong result on one rank is named by the first process, and not timed") {
  std::vector<Behaviour> behaviours(3);
  behaviours[1].damages_at = 1;
  Words words = small;
  words.insert(words.end(), {"--probe", "collectives"});
  const Ran ran = run_processes(behaviours, words);
  for (const Answered& one : ran.processes) CHECK(one.exit_code == 1);
  CHECK(holds(ran.processes[0].log, "allreduce ring, 3 ranks, 1 KiB of float32: element "));
  REQUIRE(ran.record);
  CHECK(holds(ran.record->at("notes").dump(), "not timed: allreduce ring, 3 ranks"));
}

TEST_CASE("mpi on host: a time limit holds for all, and bad input is one sentence") {
  Words words = small;
  *(std::find(words.begin(), words.end(), "--time-limit") + 1) = "0 s";
  const Ran limited = run_processes({{}, {}}, words);
  for (const Answered& one : limited.processes) CHECK(one.exit_code == 0);
  check_partial(limited);
  for (const auto& row : std::map<std::string, std::string>{
           {"--ranks=1", "--ranks: expected whole numbers"},
           {"--sizes", "see: sgdsim-calibrate --help"},
           {"--type=float64", "float32"},
           {"--algorithm=nccl", "cannot run: NCCL runs on GPUs only"},
           {"--patience=5", "--patience"}}) {
    CAPTURE(row.first);
    const Ran ran = run_processes({{}, {}, {}}, {"--backend", "host", row.first, "--verify-only"});
    for (const Answered& one : ran.processes) CHECK(one.exit_code == 2);
    CHECK(holds(ran.processes[0].log, row.second));
    for (int i : {1, 2}) CHECK(ran.processes[static_cast<std::size_t>(i)].log.empty());
  }
}

}  // namespace sgdsim::mpi_on_host
