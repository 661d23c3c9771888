// NCCL among GPUs of several processes, on the stand-ins of CUDA, NCCL and MPI.
#include <doctest/doctest.h>
#include <new>
#include <set>
#include <sys/mman.h>

#include "tests/cuda_on_host/cuda_runtime.h"
#include "tests/cuda_on_host/nccl.h"
#include "tests/mpi_on_host/processes_on_host.h"

namespace sgdsim::mpi_on_host {
namespace {

using Words = std::vector<std::string>;

bool holds(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

// Every process sees `gpus` GPUs, the same ones where they are on one node.
Ran run_with_gpus(
    const std::vector<Behaviour>& behaviours, int gpus, const Words& words,
    const cuda_on_host::NcclBehaviour& nccl = {},
    const std::function<void(int process)>& before = [](int) {}) {
  static void* const memory = mmap(nullptr, sizeof(cuda_on_host::NcclMeeting),
                                   PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  auto* const meeting = new (memory) cuda_on_host::NcclMeeting;
  const bool is_hasty = std::find(words.begin(), words.end(), "500 ms") != words.end();
  meeting->patience_ms = is_hasty ? 300 : 20'000;
  meeting->processes = static_cast<int>(behaviours.size());
  return run_processes(behaviours, words, [=](int process) {
    cuda_on_host::restart(gpus);
    cuda_on_host::nccl_behaviour = nccl;
    cuda_on_host::nccl_meeting = meeting;
    before(process);
  });
}

const Words checked = {"-a",         "nccl",  "--type",       "float32,float16,bfloat16",
                       "--from",     "1 KiB", "--to",         "4 KiB",
                       "--patience", "20 s",  "--verify-only"};
const Words timed = {"-a", "nccl",         "--from", "1 KiB",   "--to", "2 KiB",      "--least",
                     "5",  "--most",       "5",      "--error", "100",  "--patience", "20 s",
                     "-q", "--time-limit", "1000 s"};

// Where something fails, nobody waits for long; where nothing does, the machine may be slow.
Words hasty(Words words) {
  *(std::find(words.begin(), words.end(), "--patience") + 1) = "500 ms";
  return words;
}

Words with(Words words, const Words& more) {
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

}  // namespace

TEST_CASE("mpi on host: NCCL among processes is right, of every operation and type") {
  struct Row {
    std::string reason;
    std::vector<Behaviour> behaviours;
    int gpus;
    std::string ranks;
  };
  const std::vector<Row> rows = {{"a node each", {{.node = 0}, {.node = 1}, {.node = 2}}, 1, "3"},
                                 {"one node, whose GPUs are divided", {{}, {}, {}}, 3, "3"},
                                 {"two GPUs each", {{.node = 0}, {.node = 1}}, 2, "2,3,4"},
                                 {"four GPUs for two", {{}, {}}, 4, "2,4"}};
  for (const Row& row : rows) {
    CAPTURE(row.reason);
    const Ran ran = run_with_gpus(row.behaviours, row.gpus, with(checked, {"--ranks", row.ranks}));
    for (const Answered& one : ran.processes) CHECK(one.exit_code == 0);
    CHECK(holds(ran.processes[0].log, " results are right"));
  }
}

TEST_CASE("mpi on host: NCCL among processes is timed, and says where") {
  const Ran ran = run_with_gpus({{.node = 0}, {.node = 1}}, 1, with(timed, {"--ranks", "2"}));
  for (const Answered& one : ran.processes) CHECK(one.exit_code == 0);
  REQUIRE(ran.record);
  CHECK(ran.record->at("complete") == true);
  std::set<std::string> operations;
  for (const Json& series : ran.record->at("series")) {
    if (series.value("algorithm", "") != "nccl") continue;
    operations.insert(series["operation"]);
    CHECK(series["placement"] == "2 ranks on GPUs, 1 a process, on 2 nodes");
    for (const Json& point : series["points"]) CHECK(point["time_us"].get<double>() > 0);
  }
  CHECK(operations.size() == 6);
}

TEST_CASE("mpi on host: GPUs that are shared, and what is not measured between processes") {
  const Ran shared = run_with_gpus({{}, {}}, 1, with(checked, {"--ranks", "2"}));
  for (const Answered& one : shared.processes) CHECK(one.exit_code == 2);
  CHECK(holds(shared.processes[0].log, "two processes have GPU 0000:10:00.0 of node0"));
  const Ran few = run_with_gpus({{.node = 0}, {.node = 1}}, 1, with(checked, {"--ranks", "3"}));
  CHECK(few.processes[0].exit_code == 2);
  CHECK(holds(few.processes[0].log, "NCCL wants a GPU for each rank, and there are 1"));
  Words ring = checked;
  ring[1] = "ring";
  const Ran copies = run_with_gpus({{.node = 0}, {.node = 1}}, 1, ring);
  CHECK(copies.processes[1].exit_code == 2);
  CHECK(holds(copies.processes[0].log, "between GPUs of different processes only NCCL"));
  const Ran none = run_with_gpus({{}, {}}, 0, checked);
  CHECK(none.processes[0].exit_code == 2);
  CHECK(holds(none.processes[0].log, "no GPU that CUDA can use"));
}

TEST_CASE("mpi on host: NCCL that fails or hangs, and calls of CUDA and MPI that fail") {
  const Words words = with(timed, {"--ranks", "2", "--op", "allreduce,alltoall"});
  const std::vector<Behaviour> two = {{.node = 0}, {.node = 1}};
  for (const int group : {1, 2, 9}) {
    const Ran ran = run_with_gpus(two, 1, hasty(words), {.fails_at = group});
    for (const Answered& one : ran.processes) CHECK(one.exit_code == 1);
    CHECK(holds(ran.processes[0].log, "remote process exited"));
  }
  const Ran late = run_with_gpus(two, 1, hasty(words), {.never_connects = true});
  CHECK(late.processes[0].exit_code == 1);
  CHECK(holds(late.processes[0].log, "NCCL, which connects its ranks, did not end within"));
  const Ran whole = run_with_gpus(two, 1, words);
  REQUIRE(whole.processes[0].exit_code == 0);
  for (const int process : {0, 1})
    for (int number = 1; number <= whole.processes[0].calls; number += 11) {
      CAPTURE(process);
      CAPTURE(number);
      std::vector<Behaviour> behaviours = two;
      behaviours[static_cast<std::size_t>(process)].fails_at = number;
      const Ran ran = run_with_gpus(behaviours, 1, hasty(words));
      CHECK(std::max(ran.processes[0].exit_code, ran.processes[1].exit_code) <= 1);
      const bool was_over = ran.record && ran.record->at("complete") == true;
      CHECK((was_over || ran.processes[0].exit_code == 1));
      if (!was_over)
        CHECK((holds(ran.processes[0].log, "MPI_ERR_OTHER") ||
               holds(ran.processes[0].log, "did not ")));
    }
}

TEST_CASE("mpi on host: whichever call of CUDA fails in one process, both end with its sentence") {
  const Words words = with(timed, {"--ranks", "2", "--op", "alltoall"});
  int with_sentence = 0;
  for (int number = 1; number <= 400; number += number < 60 ? 3 : 17) {
    CAPTURE(number);
    const Ran ran =
        run_with_gpus({{.node = 0}, {.node = 1}}, 1, hasty(words), {}, [number](int process) {
          if (process == 1) cuda_on_host::fail_call(number, cudaErrorLaunchFailure, false);
        });
    // What ends a scope puts back the device that was current, and cannot report.
    if (ran.processes[0].exit_code == 0) continue;
    for (const Answered& one : ran.processes) CHECK((one.exit_code == 1 || one.exit_code == 2));
    CHECK(holds(ran.processes[0].log, "process 1: "));
    CHECK((holds(ran.processes[0].log, "cudaErrorLaunchFailure") ||
           holds(ran.processes[0].log, "unhandled cuda error")));  // NCCL calls CUDA, too
    ++with_sentence;
  }
  CHECK(with_sentence > 20);
}

}  // namespace sgdsim::mpi_on_host
