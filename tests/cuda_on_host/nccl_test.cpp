// NCCL's calls on the stand-in: results, late connections, failures beside the host, hangs.
#include "tests/cuda_on_host/nccl.h"

#include <cstdlib>
#include <doctest/doctest.h>
#include <set>

#include "calibrate/cuda/wait.cuh"
#include "calibrate/tasks/tasks.h"

namespace sgdsim::cuda_on_host {

NcclBehaviour nccl_behaviour;
NcclMeeting* nccl_meeting = nullptr;
std::vector<std::string> nccl_settings;

namespace {

using namespace calibrate;

std::vector<Task> nccl_tasks(const std::vector<LibrarySetting>& settings) {
  Request request;
  request.algorithms = {"nccl"};
  request.ranks = {2, 3};
  request.types = {Type::float32, Type::float16, Type::bfloat16};
  request.sizes_B = {12, 6000};
  request.settings = settings;
  std::vector<Task> tasks = tasks_of(request);
  std::erase_if(tasks, [](const Task& task) { return task.algorithm != "nccl"; });
  return tasks;
}

// On three GPUs, with a patience that only what hangs outlasts.
Outcome measured(const NcclBehaviour& behaviour, double patience_s,
                 const std::vector<LibrarySetting>& settings = {{}}) {
  restart(3);
  cuda::forget_given_up();
  nccl_behaviour = behaviour;
  nccl_settings.clear();
  MeasureOptions options;
  options.rule = {1, 5, 5};
  options.time_limit_s = 1000;
  const auto backend = cuda_backend({}, patience_s);
  return measure(*backend, nccl_tasks(settings), options,
                 {[] { return false; }, [](const std::string&) {}});
}

bool holds(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("cuda on host: NCCL is right and timed, of every operation and type, in both ways") {
  for (uint64_t order = 1; order <= 5; ++order) {
    const Outcome outcome = measured({}, 1000);
    CHECK(outcome.failure.empty());
    CHECK(outcome.wrong == std::vector<std::string>{});
    // 6 operations, 3 types, 2 sizes, 2 numbers of ranks, in a row and in a graph
    CHECK(outcome.points.size() == 144);
    for (const Measured& point : outcome.points) {
      CHECK(point.verified);
      CHECK(point.samples_us.size() == 5);
      CHECK(median(point.samples_us) > 0);
      CHECK(point.rounds == 1);  // it is called in batches anyway
    }
    CHECK(alive() == 0);
  }
}

// A microsecond passes for every piece of work: in both ways a sample is a call, not the batch.
TEST_CASE("cuda on host: calls in a graph take no more than calls in a row, which have no gate") {
  const Outcome outcome = measured({}, 1000);
  const std::vector<Task> tasks = nccl_tasks({{}});
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    if (tasks[i].plan.in_graph || tasks[i].operation == "alltoall") continue;
    const auto same = std::find_if(tasks.begin(), tasks.end(), [&](const Task& other) {
      return other.plan.in_graph && other.operation == tasks[i].operation &&
             other.type == tasks[i].type && other.bytes == tasks[i].bytes &&
             other.plan.ranks == tasks[i].plan.ranks;
    });
    REQUIRE(same != tasks.end());
    const double row_us = outcome.points[i].time_us();
    const double graph_us =
        outcome.points[static_cast<std::size_t>(same - tasks.begin())].time_us();
    CHECK(graph_us > 0.2 * row_us);
    CHECK(graph_us < 2 * row_us);
  }
}

TEST_CASE("cuda on host: NCCL's algorithm, protocol and channels, as communicators are made") {
  setenv("NCCL_ALGO", "of the user", 1);
  const Outcome outcome =
      measured({}, 1000, {{}, {"Ring", "LL128", 4}, {"", "Simple", 0}, {"Tree", "", 1}});
  CHECK(outcome.failure.empty());
  CHECK(outcome.is_complete);
  CHECK(std::string(std::getenv("NCCL_ALGO")) == "of the user");
  unsetenv("NCCL_ALGO");
  std::set<std::string> settings(nccl_settings.begin(), nccl_settings.end());
  CHECK(settings == std::set<std::string>{"of the user - 0", "Ring LL128 4", "of the user Simple 0",
                                          "Tree - 1"});
  std::set<std::string> notes;
  for (const Task& task : nccl_tasks({{"Ring", "LL128", 4}, {"", "Simple", 0}, {"Tree", "", 1}}))
    notes.insert(task.note);
  CHECK(notes == std::set<std::string>{"Ring, LL128, 4 channels, calls in a row",
                                       "Ring, LL128, 4 channels, calls in a graph",
                                       "Simple, calls in a row", "Simple, calls in a graph",
                                       "Tree, 1 channel, calls in a row",
                                       "Tree, 1 channel, calls in a graph"});
}

TEST_CASE("cuda on host: NCCL that connects for ever, fails, or waits for ever is a sentence") {
  const Outcome connects = measured({.never_connects = true}, 0.01);
  CHECK(holds(connects.failure, "NCCL, which connects its ranks, did not end within"));
  for (const int group : {1, 2, 9}) {
    const Outcome fails = measured({.fails_at = group}, 1000);
    CHECK(holds(fails.failure, "remote process exited"));
    CHECK_FALSE(fails.is_complete);
  }
  const Outcome waits = measured({.never_meets = true}, 0.01);
  CHECK(holds(waits.failure, "a call of NCCL did not end within"));
  CHECK_FALSE(has_hung());
  cuda::forget_given_up();
  nccl_behaviour = {};
}

}  // namespace sgdsim::cuda_on_host

// What a GPU that hangs keeps busy is left behind on purpose: to free it could hang, too. So
// nothing is asked about leaks of this program, whichever sanitizer is in it.
extern "C" const char* __asan_default_options() { return "detect_leaks=0"; }
