// NCCL's calls on the stand-in: results, late connections, failures beside the host, hangs.
#include "tests/cuda_on_host/nccl.h"

#include <doctest/doctest.h>

#include "calibrate/cuda/wait.cuh"
#include "calibrate/tasks/tasks.h"

namespace sgdsim::cuda_on_host {

NcclBehaviour nccl_behaviour;
NcclMeeting* nccl_meeting = nullptr;

namespace {

using namespace calibrate;

std::vector<Task> nccl_tasks() {
  Request request;
  request.algorithms = {"nccl"};
  request.ranks = {2, 3};
  request.types = {Type::float32, Type::float16, Type::bfloat16};
  request.sizes_B = {12, 6000};
  std::vector<Task> tasks = tasks_of(request);
  std::erase_if(tasks, [](const Task& task) { return task.algorithm != "nccl"; });
  return tasks;
}

// On three GPUs, with a patience that only what hangs outlasts.
Outcome measured(const NcclBehaviour& behaviour, double patience_s) {
  restart(3);
  cuda::forget_given_up();
  nccl_behaviour = behaviour;
  MeasureOptions options;
  options.rule = {1, 5, 5};
  options.time_limit_s = 1000;
  const auto backend = cuda_backend({}, patience_s);
  return measure(*backend, nccl_tasks(), options,
                 {[] { return false; }, [](const std::string&) {}});
}

bool holds(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("cuda on host: NCCL is right and timed, of every operation and type") {
  for (uint64_t order = 1; order <= 5; ++order) {
    const Outcome outcome = measured({.looks = static_cast<int>(order) - 1}, 1000);
    CHECK(outcome.failure.empty());
    CHECK(outcome.wrong == std::vector<std::string>{});
    CHECK(outcome.points.size() == 72);  // 6 operations, 3 types, 2 sizes, 2 numbers of ranks
    for (const Measured& point : outcome.points) {
      CHECK(point.verified);
      CHECK(point.samples_us.size() == 5);
      CHECK(median(point.samples_us) > 0);
      CHECK(point.rounds == 1);  // it is called in batches anyway
    }
    CHECK(alive() == 0);
  }
}

TEST_CASE("cuda on host: NCCL that connects for ever, fails, or waits for ever is a sentence") {
  const Outcome connects = measured({.looks = -1}, 0.01);
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
