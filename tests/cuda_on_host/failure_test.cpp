// What happens to a measurement when GPUs fail, hang, refuse or are late: always a sentence, an
// exit code that tells, and a file with what was measured before.
#include <csignal>
#include <doctest/doctest.h>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <unistd.h>

#include "calibrate/command.h"
#include "calibrate/cuda/wait.cuh"
#include "calibrate/tasks/tasks.h"
#include "sim/core/json.h"
#include "tests/cuda_on_host/cuda_runtime.h"

namespace sgdsim::calibrate {
namespace {

using Words = std::vector<std::string>;

struct Run {
  int exit_code = 0;
  std::string log;
  std::optional<Json> record;  // of --out, if it was written
};

bool holds(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

// On GPUs as they are after a restart and `prepare`.
template <class Prepare>
Run run_on(int devices, const Prepare& prepare, Words words) {
  cuda_on_host::restart(devices);
  cuda::forget_given_up();
  prepare();
  const std::string file = std::filesystem::temp_directory_path().string() + "/sgdsim_failure_" +
                           std::to_string(getpid()) + ".json";
  std::filesystem::remove(file);
  const bool is_timed = std::find(words.begin(), words.end(), "--verify-only") == words.end();
  if (is_timed) words.insert(words.end(), {"--out", file, "--force"});
  std::ostringstream out;
  std::ostringstream log;
  Run answer;
  answer.exit_code = run(words, out, log);
  answer.log = log.str();
  if (std::filesystem::exists(file) && std::filesystem::file_size(file) > 0)
    answer.record = Json::parse(read_text(file));
  std::filesystem::remove(file);
  return answer;
}

// A time limit that a busy machine does not reach.
const Words small = {"--ranks",      "2",         "-a",      "ring",
                     "--op",         "allreduce", "--from",  "1 KiB",
                     "--to",         "1 KiB",     "--probe", "collectives,top_k",
                     "--least",      "1",         "--most",  "1",
                     "--time-limit", "1000 s",    "--error", "100",
                     "--density",    "0.1",       "-q"};

// A record of something that failed reads, says so, and holds only times above 0.
void check_partial(const Run& run) {
  if (!run.record) return;
  const Json& record = *run.record;
  CHECK(record["schema"] == "sgdsim/measurement/1");
  CHECK(record["complete"] == false);
  bool says_why = false;
  for (const Json& note : record["notes"])
    says_why = says_why || holds(note.get<std::string>(), "ended by a failure: ");
  CHECK(says_why);
  for (const Json& series : record["series"])
    for (const Json& point : series["points"]) CHECK(point["time_us"].get<double>() > 0);
}

}  // namespace

TEST_CASE("cuda on host: whichever call fails, there is a sentence and what was measured") {
  const Run whole = run_on(
      2, [] {}, small);
  REQUIRE(whole.exit_code == 0);
  REQUIRE(whole.record->at("complete") == true);
  const int calls = cuda_on_host::calls();
  int with_series = 0;
  // Later calls are those of the same places again.
  constexpr int all_until = 700;
  for (const bool is_sticky : {false, true})
    for (int number = 1; number <= calls; number += number < all_until && !is_sticky ? 1 : 23) {
      CAPTURE(number);
      CAPTURE(is_sticky);
      const Run run = run_on(
          2, [&] { cuda_on_host::fail_call(number, cudaErrorLaunchFailure, is_sticky); }, small);
      const bool is_refused = run.exit_code == 1 || run.exit_code == 2;
      // What ends a scope puts back the device that was current, and cannot report.
      if (!is_refused && !run.record->at("complete").get<bool>()) FAIL_CHECK(run.log);
      if (!is_refused) continue;
      CHECK(holds(run.log, "cudaErrorLaunchFailure"));
      CHECK((run.exit_code == 2 || holds(run.log, "sgdsim-calibrate: failed: ")));
      check_partial(run);
      if (run.record && !run.record->at("series").empty()) ++with_series;
    }
  CHECK(with_series > 50);
  CHECK(calls > all_until);
}

TEST_CASE("cuda on host: a GPU that hangs is given up, and no call waits for it") {
  const Run whole = run_on(
      2, [] {}, small);
  REQUIRE(whole.exit_code == 0);
  Words words = small;
  words.insert(words.end(), {"--patience", "20 ms"});
  const int works = cuda_on_host::works();
  CHECK(works > 300);
  for (int number = 0; number < works; number += number < 40 ? 1 : 7) {
    CAPTURE(number);
    const Run run = run_on(
        2, [&] { cuda_on_host::hang_after(number); }, words);
    INFO(run.log);
    CHECK(run.exit_code == 1);
    CHECK(holds(run.log, " did not end within "));
    CHECK_FALSE(cuda_on_host::has_hung());
    check_partial(run);
  }
  cuda::forget_given_up();
}

TEST_CASE("cuda on host: where launches block, results are checked and times refused") {
  const Run run = run_on(
      1, [] { cuda_on_host::block_launches(); }, small);
  CHECK(run.exit_code == 1);
  CHECK(holds(run.log, "launches block, as under CUDA_LAUNCH_BLOCKING"));
  CHECK(holds(run.log, "not measured: allreduce ring, 2 ranks, float32, 1 KiB (1 of 1)"));
  check_partial(run);
  Words words = small;
  words.emplace_back("--verify-only");
  const Run checked = run_on(
      1, [] { cuda_on_host::block_launches(); }, words);
  CHECK(checked.exit_code == 0);
  CHECK(holds(checked.log, "results are right"));
}

TEST_CASE("cuda on host: a time limit holds for verification, too") {
  Words words = small;
  *(std::find(words.begin(), words.end(), "--time-limit") + 1) = "0 s";
  const Run timed = run_on(
      1, [] {}, words);
  CHECK(timed.exit_code == 0);
  CHECK(timed.record->at("complete") == false);
  CHECK(holds(timed.log, "not measured: allreduce ring, 2 ranks, float32, 1 KiB (1 of 1)"));
  CHECK(holds(timed.record->at("notes").dump(), "not measured: allreduce ring, 2 ranks"));
  words.emplace_back("--verify-only");
  const Run checked = run_on(
      1, [] {}, words);
  CHECK(checked.exit_code == 3);
  CHECK(holds(checked.log, "not verified: top_k"));
  CHECK(holds(checked.log, "; not all were checked"));
}

// The first Ctrl-C is kept until what was measured is written; for the second one nobody waits.
TEST_CASE("cuda on host: after a Ctrl-C the next one ends the program") {
  run_on(
      2, [] {}, small);
  const int half = cuda_on_host::calls() / 2;
  bool is_default = false;
  const Run run = run_on(
      2,
      [&] {
        cuda_on_host::at_call(half, [&] {
          std::raise(SIGINT);
          struct sigaction now {};
          sigaction(SIGINT, nullptr, &now);
          is_default = now.sa_handler == SIG_DFL;
        });
      },
      small);
  CHECK(is_default);
  CHECK(run.exit_code == 130);
  CHECK(run.record->at("complete") == false);
}

// Each task fits by itself: one needs its data, the other one its sorts.
TEST_CASE("cuda on host: memory is planned for what shares it") {
  cuda_on_host::restart(1);
  const auto backend = cuda_backend({});
  Task wide = copy_task(Way::within_a_rank, int64_t{400} << 20, Type::float32);
  Task sorted = top_k_task(Type::float32, int64_t{60} << 20, 8);
  for (const auto& alone : {wide, sorted}) {
    std::vector<Task> tasks{alone};
    CHECK(leave_out_what_has_no_room(*backend, tasks).empty());
  }
  std::vector<Task> tasks{wide, sorted};
  const auto reasons = leave_out_what_has_no_room(*backend, tasks);
  REQUIRE(reasons.size() == 1);
  // Of two sizes the larger one finds no room, in each of the five ways to copy; a GPU of which
  // most is taken serves as well, and copies less.
  void* taken = nullptr;
  const Run run =
      run_on(1, [&] { REQUIRE(cudaMalloc(&taken, std::size_t{1000} << 20) == cudaSuccess); },
             {"--probe", "copy", "--from", "8 MiB", "--to", "16 MiB", "--verify-only"});
  CHECK(run.exit_code == 0);
  INFO(run.log);
  CHECK(holds(run.log, "5 of 5 results are right; 5 were left out"));
  cudaFree(taken);
  CHECK(holds(reasons[0], "left out: top_k, 1 rank, 60 MiB of float32: it needs "));
  CHECK(tasks.size() == 1);
}

}  // namespace sgdsim::calibrate
