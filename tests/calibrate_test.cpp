// Numbers of 16 bits, and measuring with the threads of this machine.
#include <cmath>
#include <doctest/doctest.h>

#include "calibrate/summary.h"
#include "calibrate/tasks/tasks.h"

namespace sgdsim::calibrate {
namespace {

// ---- numbers

// IEEE 754: 1, the largest float16, the smallest normal and the smallest of all, and ties.
TEST_CASE("calibrate: 16-bit numbers") {
  CHECK(to_float16(1) == 0x3c00);
  CHECK(to_float16(-2) == 0xc000);
  CHECK(to_float16(65504) == 0x7bff);
  CHECK(to_float16(65519) == 0x7bff);
  CHECK(to_float16(65520) == 0x7c00);
  CHECK(to_float16(0x1p-14F) == 0x0400);
  CHECK(to_float16(0x1p-24F) == 0x0001);
  CHECK(to_float16(0x1p-25F) == 0x0000);  // half of it: to even
  CHECK(to_float16(0x1.8p-25F) == 0x0001);
  CHECK(to_float16(2049) == to_float16(2048));  // halfway: to even
  CHECK(to_float16(2051) == to_float16(2052));
  CHECK(to_bfloat16(1) == 0x3f80);
  CHECK(to_bfloat16(257) == to_bfloat16(256));
  CHECK(to_bfloat16(259) == to_bfloat16(260));
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    const auto half = static_cast<uint16_t>(bits);
    const float value = from_float16(half);
    if (std::isnan(value))
      CHECK(std::isnan(from_float16(to_float16(value))));
    else if (to_float16(value) != half)
      FAIL_CHECK("float16 " << bits << " does not come back");
    const float brain = from_bfloat16(half);
    if (!std::isnan(brain) && to_bfloat16(brain) != half)
      FAIL_CHECK("bfloat16 " << bits << " does not come back");
  }
  CHECK(std::isnan(from_bfloat16(to_bfloat16(NAN))));
}

// ---- the host backend

TEST_CASE("calibrate: threads give the right results, of every type") {
  const auto backend = host_backend();
  const Watcher watcher{[] { return false; }, [](const std::string&) {}};
  for (const Type type : {Type::float32, Type::float16, Type::bfloat16}) {
    Request request;
    request.probes = probe_names();
    request.density = 0.05;
    request.ranks = {2, 3, 5};
    request.types = {type};
    request.sizes_B = {4, 1000, 40000};
    request.blocks_B = {4096, 60};
    request.overlaps = type != Type::float32;
    MeasureOptions options;
    options.verify_only = true;
    std::vector<Task> tasks = tasks_of(request);
    std::erase_if(tasks, [&](const Task& task) { return !backend->why_not(task.plan).empty(); });
    const Outcome outcome = measure(*backend, tasks, options, watcher);
    CHECK(tasks.size() >= 100);
    CHECK(outcome.wrong == std::vector<std::string>{});
    CHECK(outcome.is_complete);
  }
}

// A copy that is left out: the task is named, and not timed.
TEST_CASE("calibrate: a wrong result is not timed") {
  std::vector<Task> tasks = {copy_task(Way::between_ranks, 1000, Type::float32),
                             copy_task(Way::between_ranks, 2000, Type::float32)};
  std::erase_if(tasks[0].plan.steps, [](const Step& step) { return step.act == Act::copy; });
  MeasureOptions options;
  options.rule = {1, 1, 5};
  const Outcome outcome =
      measure(*host_backend(), tasks, options, {[] { return false; }, [](const std::string&) {}});
  CHECK(outcome.wrong.size() == 1);
  CHECK(outcome.points[0].samples_us.empty());
  CHECK(outcome.points[1].samples_us.size() == 5);
  CHECK(outcome.points[1].samples_us[0] > 0);
}

// Five samples a visit; that another one comes in between is what makes visits independent.
TEST_CASE("calibrate: a time is that of visits, and says how they differ") {
  const std::vector<Task> tasks = {copy_task(Way::between_ranks, 1000, Type::float32),
                                   copy_task(Way::between_ranks, 2000, Type::float32)};
  MeasureOptions options;
  options.rule = {1, 30, 30};
  const Outcome outcome =
      measure(*host_backend(), tasks, options, {[] { return false; }, [](const std::string&) {}});
  const Measured& point = outcome.points[0];
  CHECK(point.visits == std::vector<std::size_t>(6, 5));
  CHECK(point.time_us() == median(point.medians_us()));
  const auto interval = interval_of(point.medians_us());
  REQUIRE(interval);
  CHECK(interval->low <= point.time_us());
  CHECK(interval->high >= point.time_us());
}

TEST_CASE("calibrate: an interruption keeps what was measured") {
  std::vector<Task> tasks;
  for (int i = 1; i <= 50; ++i)
    tasks.push_back(copy_task(Way::between_ranks, 1000 * i, Type::float32));
  int visits = 0;
  MeasureOptions options;
  options.rule = {0, 5, 5};
  const Outcome outcome =
      measure(*host_backend(), tasks, options,
              {[&] { return visits >= 3; }, [&](const std::string&) { ++visits; }});
  CHECK_FALSE(outcome.is_complete);
  CHECK_FALSE(outcome.points[0].samples_us.empty());
  CHECK(outcome.points[49].samples_us.empty());
}

// A copy of 1 MiB reads and writes 2 MiB, in 100 us. The ring among two moves 7 MiB: half of the
// data is copied (2 bytes for each) and summed (3) by each of them, then half is copied by each.
// That is 350 us of one memory, or 175 us of two.
TEST_CASE("calibrate: the summary sets times against memory traffic") {
  constexpr int64_t bytes = 1 << 20;
  const std::vector<Task> tasks = {
      copy_task(Way::within_a_rank, bytes / 2, Type::float32),
      copy_task(Way::within_a_rank, bytes, Type::float32),
      collective_task({.algorithm = "ring", .operation = "allreduce", .ranks = 2, .bytes = bytes},
                      Type::float32)};
  Outcome outcome;
  for (const double us : {70., 100., 700.})
    outcome.points.push_back({.samples_us = {us}, .verified = true, .visits = {1}});
  const auto of = [&](int memories) {
    return summary_of(tasks, outcome, [memories](int ranks) { return ranks == 1 ? 1 : memories; });
  };
  REQUIRE(of(1).size() == 3);
  CHECK(of(1)[0].find("100 us      10.49 GB/s       1 x memory traffic  copy within a rank") !=
        std::string::npos);
  CHECK(of(1)[1].find("700 us      1.498 GB/s       2 x memory traffic  allreduce ring, 2 ranks, "
                      "1 MiB of float32") != std::string::npos);
  CHECK(of(1)[2].find("20.97 GB/s") != std::string::npos);
  CHECK(of(2)[1].find(" 4 x memory traffic") != std::string::npos);
  CHECK(of(0)[1].find("traffic") == std::string::npos);
}

}  // namespace
}  // namespace sgdsim::calibrate
