// The CUDA backend on the stand-in: every collective and probe, in many of the orders that a GPU
// might choose, and proof that a dependency which is missing shows in some of them.
#include <doctest/doctest.h>

#include "calibrate/tasks/tasks.h"
#include "sim/core/error.h"
#include "tests/cuda_on_host/cuda_runtime.h"

namespace sgdsim::calibrate {
namespace {

// Buffers are new, and full of garbage, for every order: what an earlier run left there would hide
// what this one did not write.
bool is_right(Backend& backend, const Task& task, uint64_t order) {
  const Plan& plan = task.plan;
  cuda_on_host::set_order(order);
  backend.prepare(plan.ranks, plan.room);
  backend.load(plan, task.type);
  for (int rank = 0; rank < plan.ranks; ++rank)
    for (const Stretch& stretch : task.before(rank)) backend.write(rank, stretch);
  backend.play();
  for (int rank = 0; rank < plan.ranks; ++rank)
    if (task.first_wrong(rank, backend.read(rank, plan.room.data_B)) >= 0) return false;
  return true;
}

void check_orders(const std::vector<Task>& tasks, int devices, uint64_t orders,
                  bool are_peers = true) {
  cuda_on_host::restart(devices, are_peers);
  {
    const auto backend = cuda_backend({});
    for (const Task& task : tasks)
      for (uint64_t order = 1; order <= orders; ++order)
        if (!is_right(*backend, task, order))
          FAIL_CHECK(text_of(task) << ", " << devices << " GPUs, order " << order);
  }
  CHECK(cuda_on_host::alive() == 0);
}

Request everything(const std::vector<int64_t>& sizes_B) {
  Request request;
  request.probes = probe_names();
  request.ranks = {2, 3, 4, 5, 6, 7, 8};
  request.types = {Type::float32, Type::float16, Type::bfloat16};
  request.sizes_B = sizes_B;
  request.blocks_B = {256};
  request.density = 0.3;
  return request;
}

// All but NCCL's, which needs real GPUs.
std::vector<Task> own_tasks_of(const Request& request) {
  std::vector<Task> tasks = tasks_of(request);
  std::erase_if(tasks, [](const Task& task) { return task.plan.has_calls(); });
  return tasks;
}

TEST_CASE("cuda on host: everything is right, of every type, among 2 to 8 ranks, in any order") {
  Request request = everything({4, 12, 1000});
  for (const bool overlaps : {false, true}) {
    request.overlaps = overlaps;
    const std::vector<Task> tasks = own_tasks_of(request);
    check_orders(tasks, 1, 3);
    check_orders(tasks, 3, 3);
  }
}

TEST_CASE("cuda on host: messages of many blocks") {
  Request request = everything({65540});
  request.ranks = {3, 8};
  request.blocks_B = {4096};
  request.density = 0.001;
  for (const bool overlaps : {false, true}) {
    request.overlaps = overlaps;
    check_orders(own_tasks_of(request), overlaps ? 3 : 1, 1);
  }
}

// A GPU works while the host goes on: what is queued may be done, or not, before the next call.
TEST_CASE("cuda on host: results are right whatever is done between two calls of the host") {
  Request request = everything({12, 1000});
  request.ranks = {2, 3, 5};
  const std::vector<Task> tasks = own_tasks_of(request);
  for (const int most : {1, 5, 50}) {
    cuda_on_host::restart(2);
    cuda_on_host::work_meanwhile(most);
    const auto backend = cuda_backend({});
    for (const Task& task : tasks)
      if (!is_right(*backend, task, 7)) FAIL_CHECK(text_of(task) << ", " << most << " meanwhile");
  }
}

// Memory that is asked for while a gate is shut would wait for ever; nor may a run begin before its
// gate opens, however far the GPU has come.
TEST_CASE("cuda on host: runs begin together where memory waits and work goes on meanwhile") {
  std::vector<Task> tasks = {start_task(2), top_k_task(Type::float32, 4000, 30),
                             copy_task(Way::between_ranks, 4000, Type::float32)};
  for (Task& task : overlap_tasks(2, {24'576}, Type::bfloat16)) tasks.push_back(std::move(task));
  MeasureOptions options;
  options.rule = {1, 5, 5};
  options.time_limit_s = 1000;
  const Watcher undisturbed{[] { return false; }, [](const std::string&) {}};
  std::vector<double> quiet_us;
  for (const int most : {0, 3, 30}) {
    CAPTURE(most);
    cuda_on_host::restart(2);
    cuda_on_host::let_allocation_wait();
    if (most > 0) cuda_on_host::work_meanwhile(most);
    const auto backend = cuda_backend({});
    const Outcome outcome = measure(*backend, tasks, options, undisturbed);
    CHECK(outcome.failure.empty());
    CHECK(outcome.is_complete);
    CHECK(outcome.wrong.empty());
    for (std::size_t i = 0; i < tasks.size(); ++i) {
      CAPTURE(text_of(tasks[i]));
      CHECK(outcome.points[i].samples_us.size() >= 5);
      if (most == 0)
        quiet_us.push_back(outcome.points[i].time_us());
      else if (tasks[i].plan.beside == 0)  // between two events on the GPU, whatever the host does
        CHECK(outcome.points[i].time_us() == doctest::Approx(quiet_us[i]).epsilon(0.3));
    }
  }
}

// Tasks in whose plans no dependency follows from the others.
std::vector<Task> tasks_without_spare_awaits() {
  constexpr int64_t bytes = 2000;
  std::vector<Task> tasks = {gtopk_task(5, Type::float32, bytes, 100),
                             copy_task(Way::through_host, (3 << 20) + 1200, Type::float32)};
  for (const std::string algorithm : {"ring", "mst", "be", "lp"})
    tasks.push_back(collective_task({.algorithm = algorithm,
                                     .operation = "allreduce",
                                     .ranks = 5,
                                     .bytes = bytes,
                                     .block_B = 500,
                                     .overlaps = true},
                                    Type::float32));
  return tasks;
}

// Otherwise the tests above would prove nothing.
TEST_CASE("cuda on host: a dependency that is missing shows in some order") {
  constexpr uint64_t orders = 200;
  cuda_on_host::restart(3);
  const auto backend = cuda_backend({});
  int dropped = 0;
  for (Task& task : tasks_without_spare_awaits()) {
    const std::vector<Step> steps = task.plan.steps;
    for (std::size_t i = 0; i < steps.size(); ++i) {
      if (steps[i].act != Act::await) continue;
      ++dropped;
      task.plan.steps = steps;
      task.plan.steps.erase(task.plan.steps.begin() + static_cast<std::ptrdiff_t>(i));
      uint64_t order = 1;
      while (order <= orders && is_right(*backend, task, order)) ++order;
      if (order > orders) FAIL_CHECK(text_of(task) << " without step " << i << " stays right");
    }
  }
  CHECK(dropped > 100);
}

TEST_CASE("cuda on host: times, caches, other GPUs than the first, GPUs that are no peers") {
  const std::vector<Task> tasks = tasks_without_spare_awaits();
  check_orders(tasks, 3, 1, false);
  cuda_on_host::restart(3);
  const auto backend = cuda_backend({2, 1});
  MeasureOptions options;
  options.cold = true;
  options.rule = {0.5, 6, 6};
  const Watcher undisturbed{[] { return false; }, [](const std::string&) {}};
  const Outcome outcome = measure(*backend, tasks, options, undisturbed);
  CHECK(outcome.wrong.empty());
  for (const Measured& point : outcome.points) CHECK(median(point.samples_us) > 0);
  CHECK(backend->machine().device == "CUDA on the host, CUDA on the host");
  CHECK(backend->placement(5) == "5 virtual ranks on 2 GPUs");
}

// Work on the stand-in takes a microsecond a piece, and its clock steps by half of one, as CUDA's.
TEST_CASE("cuda on host: short runs are repeated between two looks at the clock") {
  cuda_on_host::restart(2);
  const auto backend = cuda_backend({});
  const auto many = [](int kernels) {
    Task task = start_task(2);
    for (int i = 1; i < kernels; ++i) task.plan.steps.push_back(task.plan.steps.front());
    return task;
  };
  MeasureOptions options;
  options.rule = {1, 6, 6};
  const Watcher undisturbed{[] { return false; }, [](const std::string&) {}};
  const std::vector<Task> tasks = {many(1), many(30)};
  const Outcome outcome = measure(*backend, tasks, options, undisturbed);
  const double short_us = median(outcome.points[0].samples_us);
  const double long_us = median(outcome.points[1].samples_us);
  CHECK(outcome.points[0].rounds > 1);
  CHECK(outcome.points[0].rounds * short_us > 0.8 * 25);
  CHECK(outcome.points[1].rounds == 1);
  // 29 kernels more in one stream; a start is in both.
  CHECK(long_us - short_us == doctest::Approx(29).epsilon(0.05));
  // A cache is cold for one run only.
  options.cold = true;
  CHECK(measure(*backend, tasks, options, undisturbed).points[0].rounds == 1);
}

// A run of one kernel a stream is a graph of some ten nodes, and is repeated a few times. The last
// task's graph alone is more than the queue takes.
TEST_CASE("cuda on host: launches beyond the length of the queue") {
  struct Row {
    std::size_t depth;
    bool first_is_timed;
    bool last_is_timed;
  };
  std::vector<Task> tasks = {start_task(2), start_task(2)};
  for (int i = 1; i < 300; ++i) tasks[1].plan.steps.push_back(tasks[1].plan.steps.front());
  MeasureOptions options;
  options.rule = {1, 6, 6};
  const Watcher undisturbed{[] { return false; }, [](const std::string&) {}};
  int free_rounds = 0;
  for (const Row& row : {Row{10'000, true, true}, Row{100, true, false}, Row{16, true, false},
                         Row{2, false, false}}) {
    CAPTURE(row.depth);
    cuda_on_host::restart(2);
    const auto backend = cuda_backend({});
    cuda_on_host::set_queue_depth(row.depth);
    const Outcome outcome = measure(*backend, tasks, options, undisturbed);
    CHECK(outcome.failure.empty());
    CHECK(outcome.points[0].samples_us.empty() != row.first_is_timed);
    CHECK(outcome.points[1].samples_us.empty() != row.last_is_timed);
    CHECK(outcome.is_complete == row.last_is_timed);
    CHECK(outcome.notes.size() == (row.first_is_timed ? 0U : 1U) + (row.last_is_timed ? 0U : 1U));
    if (free_rounds == 0) free_rounds = outcome.points[0].rounds;
    if (row.depth < 100) CHECK(outcome.points[0].rounds < free_rounds);
    for (const Measured& point : outcome.points) {
      std::size_t samples = 0;
      for (const std::size_t visit : point.visits) samples += visit;
      CHECK(samples == point.samples_us.size());
    }
  }
}

TEST_CASE("cuda on host: GPUs that are not there are a clear sentence") {
  const auto sentence_of = [](const std::vector<int>& devices) -> std::string {
    try {
      cuda_backend(devices);
      return "";
    } catch (const InputError& error) {
      return error.what();
    }
  };
  cuda_on_host::restart(0);
  CHECK(sentence_of({}).find("no GPU that CUDA can use") != std::string::npos);
  cuda_on_host::restart(2);
  CHECK(sentence_of({1}).empty());
  CHECK(sentence_of({1, 1}).find("a GPU is given twice") != std::string::npos);
  CHECK(sentence_of({0, 2}).find("there is no GPU 2; there are 2, from 0") != std::string::npos);
}

// Each GPU has 1 GiB, of which nine tenths may be taken. A copy needs its data at both ranks, a
// selection 9 bytes for each element: 3.25 times float32's data in all, and 5.5 times bfloat16's.
TEST_CASE("cuda on host: what a GPU has no memory for is a clear sentence") {
  cuda_on_host::restart(1);
  const auto backend = cuda_backend({});
  const auto why_not = [&](const Task& task) {
    return backend->why_no_room(task.plan.ranks, task.plan.room);
  };
  constexpr int64_t mib = 1 << 20;
  CHECK(why_not(copy_task(Way::between_ranks, 400 * mib, Type::float32)).empty());
  CHECK(why_not(copy_task(Way::between_ranks, 600 * mib, Type::float32)) ==
        "it needs 1200 MiB of the memory of GPU 0, of which 1024 MiB are free");
  CHECK(why_not(top_k_task(Type::float32, 270 * mib, 8)).empty());
  CHECK_FALSE(why_not(top_k_task(Type::float32, 300 * mib, 8)).empty());
  CHECK(why_not(top_k_task(Type::bfloat16, 160 * mib, 8)).empty());
  CHECK_FALSE(why_not(top_k_task(Type::bfloat16, 180 * mib, 8)).empty());
}

}  // namespace
}  // namespace sgdsim::calibrate
