// What needs a GPU: every collective on it, and how fast its parts are. Without one, each case says
// so and is skipped.
#include <doctest/doctest.h>

#include "calibrate/statistics.h"
#include "calibrate/tasks.h"
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
  for (const bool overlaps : {false, true}) {
    request.overlaps = overlaps;
    std::vector<Task> tasks = tasks_of(request);
    std::erase_if(tasks, [&](const Task& task) { return !backend->why_not(task.plan).empty(); });
    const Outcome outcome = measure(*backend, tasks, options, undisturbed);
    CHECK(outcome.wrong == std::vector<std::string>{});
  }
}

// A copy within the GPU reads and writes each byte once; a sum reads two and writes one. A large
// sum should reach what a large copy reaches, in bytes moved per second.
TEST_CASE("cuda: sums are as fast as copies, byte for byte") {
  const auto backend = gpu_or_reason();
  if (!backend) return;
  constexpr int64_t bytes = int64_t{256} << 20;
  MeasureOptions options;
  options.rule = {0.02, 10, 30};
  const std::vector<Task> tasks = {copy_task(Way::between_ranks, bytes, Type::float32),
                                   fold_task(bytes, Type::float32)};
  const Outcome outcome = measure(*backend, tasks, options, undisturbed);
  REQUIRE(outcome.wrong.empty());
  const double copy_us = median(outcome.points[0].samples_us);
  const double fold_us = median(outcome.points[1].samples_us);
  CHECK(fold_us / 3 < 1.25 * copy_us / 2);
}

}  // namespace
}  // namespace sgdsim::calibrate
