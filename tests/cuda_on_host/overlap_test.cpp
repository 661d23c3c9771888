// Products and exchanges beside each other on the stand-in, where a piece of work takes a
// microsecond whatever else goes on.
#include <doctest/doctest.h>
#include <map>

#include "calibrate/summary.h"
#include "calibrate/tasks/tasks.h"
#include "tests/cuda_on_host/cuda_runtime.h"
#include "tests/cuda_on_host/nccl.h"

namespace sgdsim::cuda_on_host {
namespace {

using namespace calibrate;

struct Measurement {
  std::vector<Task> tasks;
  Outcome outcome;
};

Measurement measured(int gpus, int ranks, Type type) {
  restart(gpus);
  const auto backend = cuda_backend({}, 1000);
  Measurement all{overlap_tasks(ranks, {24'576}, type), {}};
  std::erase_if(all.tasks, [&](const Task& task) { return !backend->why_not(task.plan).empty(); });
  MeasureOptions options;
  options.rule = {1, 5, 5};
  options.time_limit_s = 1000;
  all.outcome =
      measure(*backend, all.tasks, options, {[] { return false; }, [](const std::string&) {}});
  return all;
}

}  // namespace

TEST_CASE("cuda on host: products and exchanges are right alone and beside each other") {
  for (const Type type : {Type::float32, Type::bfloat16})
    for (const int ranks : {2, 3}) {
      const Measurement all = measured(3, ranks, type);
      const std::vector<Task>& tasks = all.tasks;
      const Outcome& outcome = all.outcome;
      CHECK(tasks.size() == 10);  // a product; three exchanges alone, beside it, and it beside them
      CHECK(outcome.failure.empty());
      CHECK(outcome.wrong == std::vector<std::string>{});
      for (std::size_t i = 0; i < tasks.size(); ++i) {
        CAPTURE(tasks[i].algorithm);
        CHECK(outcome.points[i].verified);
        CHECK(outcome.points[i].samples_us.size() == 5);
      }
      CHECK(alive() == 0);
    }
}

// Whoever is timed has the other beside it to the end: one at a time in an order drawn by lot, they
// take up to twice as long as alone, and never less.
TEST_CASE("cuda on host: what is timed is disturbed, and what disturbs it is not timed") {
  const Measurement all = measured(2, 2, Type::float32);
  const std::vector<Task>& tasks = all.tasks;
  const Outcome& outcome = all.outcome;
  std::map<std::string, double> times_us;
  for (std::size_t i = 0; i < tasks.size(); ++i)
    times_us[tasks[i].algorithm] = outcome.points[i].time_us();
  for (const std::string exchange : {"copy engines", "multiprocessors", "nccl"}) {
    CAPTURE(exchange);
    CHECK(times_us.at("product beside " + exchange) >= times_us.at("product alone"));
    CHECK(times_us.at(exchange + " beside product") >= 0.9 * times_us.at(exchange + " alone"));
  }
  const std::vector<std::string> lines = summary_of(tasks, outcome, [](int) { return 1; });
  int told = 0;
  for (const std::string& line : lines)
    told += line.find(" times what it takes alone") != std::string::npos ? 1 : 0;
  CHECK(told == 6);
}

TEST_CASE("cuda on host: on one GPU there is no NCCL to be beside") {
  const auto [tasks, outcome] = measured(1, 2, Type::float32);
  CHECK(tasks.size() == 7);
  CHECK(outcome.wrong == std::vector<std::string>{});
}

}  // namespace sgdsim::cuda_on_host
