// What needs a GPU: every collective on it, and how fast its parts are. Without one, each case says
// so and is skipped.
#include <doctest/doctest.h>

#include "calibrate/statistics.h"
#include "calibrate/tasks/tasks.h"
#include "sim/core/error.h"

namespace sgdsim::calibrate {
namespace {

std::unique_ptr<Backend> gpu_or_reason() {
  try {
    return cuda_backend({});
  } catch (const InputError& error) {
    MESSAGE("skipped: " << std::string(error.what()));
    return nullptr;
  }
}

const Watcher undisturbed{[] { return false; }, [](const std::string&) {}};

TEST_CASE("cuda: every collective is right, of every type, among 2 to 8 ranks") {
  const auto backend = gpu_or_reason();
  if (!backend) return;
  Request request;
  request.probes = probe_names();
  request.ranks = {2, 3, 4, 5, 6, 7, 8};
  request.types = {Type::float32, Type::float16, Type::bfloat16};
  request.sizes_B = {4, 1000, 65536, 1 << 20, (16 << 20) + 12};
  MeasureOptions options;
  options.verify_only = true;
  options.time_limit_s = 1e9;
  for (const bool overlaps : {false, true}) {
    request.overlaps = overlaps;
    std::vector<Task> tasks = tasks_of(request);
    std::erase_if(tasks, [&](const Task& task) { return !backend->why_not(task.plan).empty(); });
    const Outcome outcome = measure(*backend, tasks, options, undisturbed);
    CHECK(outcome.wrong == std::vector<std::string>{});
    CHECK(outcome.failure.empty());
  }
}

constexpr int64_t large_B = int64_t{256} << 20;

// Medians, in the order of the tasks.
std::vector<double> times_us(Backend& backend, const std::vector<Task>& tasks) {
  MeasureOptions options;
  options.rule = {0.02, 10, 30};
  const Outcome outcome = measure(backend, tasks, options, undisturbed);
  CHECK(outcome.wrong == std::vector<std::string>{});
  CHECK(outcome.failure.empty());
  std::vector<double> medians;
  for (const Measured& point : outcome.points) medians.push_back(median(point.samples_us));
  return medians;
}

// A copy within the GPU reads and writes each byte once; a sum reads two and writes one. A large
// sum should reach what a large copy reaches, in bytes moved per second.
TEST_CASE("cuda: sums are as fast as copies, byte for byte") {
  const auto backend = gpu_or_reason();
  if (!backend) return;
  const std::vector<double> us = times_us(
      *backend,
      {copy_task(Way::within_a_rank, large_B, Type::float32), fold_task(large_B, Type::float32)});
  CHECK(us[1] / 3 < 1.25 * us[0] / 2);
}

// Ranks that share a GPU share its memory, which then is what a large all-reduce takes: within 15 %
// of the bytes that it must move, at the rate of a copy.
TEST_CASE("cuda: virtual ranks keep the memory busy") {
  const auto backend = gpu_or_reason();
  if (!backend) return;
  if (backend->memories(8) != 1) {
    MESSAGE("skipped: there are several GPUs, between which links are slower than memory");
    return;
  }
  for (const int ranks : {2, 4, 8}) {
    std::vector<Task> tasks = {copy_task(Way::within_a_rank, large_B, Type::float32)};
    for (const std::string algorithm : {"ring", "lp"})
      tasks.push_back(collective_task({.algorithm = algorithm,
                                       .operation = "allreduce",
                                       .ranks = ranks,
                                       .bytes = large_B,
                                       .block_B = int64_t{16} << 20,
                                       .overlaps = true},
                                      Type::float32));
    const std::vector<double> us = times_us(*backend, tasks);
    const double rate = static_cast<double>(*tasks[0].plan.moved_B()) / us[0];
    for (std::size_t i = 1; i < tasks.size(); ++i) {
      INFO(text_of(tasks[i]));
      CHECK(us[i] < 1.15 * static_cast<double>(*tasks[i].plan.moved_B()) / rate);
    }
  }
}

// A message between virtual ranks is a copy within the GPU, by way of a graph.
TEST_CASE("cuda: a message is as fast as a copy") {
  const auto backend = gpu_or_reason();
  if (!backend) return;
  if (backend->memories(2) != 1) {
    MESSAGE("skipped: there are several GPUs, between which links are slower than memory");
    return;
  }
  const std::vector<double> us =
      times_us(*backend, {copy_task(Way::within_a_rank, large_B, Type::float32),
                          copy_task(Way::between_ranks, large_B, Type::float32)});
  CHECK(us[1] < 1.1 * us[0]);
}

}  // namespace
}  // namespace sgdsim::calibrate
