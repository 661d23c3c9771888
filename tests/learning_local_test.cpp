// Local steps against what a pencil gives: fixed points, moments, and changes that are selected.
#include <cmath>
#include <doctest/doctest.h>
#include <utility>
#include <vector>

#include "tests/lesson_cases.h"

namespace sgdsim::learning {
namespace {

TEST_CASE("lesson: local steps contract as synchronous ones of all workers") {
  const Task noisy =
      lesson_task(R"({"name": "quadratic", "noise": 1, "dimensions": 20000, "condition": 1})");
  for (const auto& row : {std::pair(1, 0.434214136250), std::pair(4, 0.040689885320)}) {
    LessonPlan plan = lesson_plan(noisy, 8, 0.1, 4 * row.first);
    plan.evaluate = 1000;
    plan.log.every = row.first;
    const Moment moment = square_of(plan);
    CHECK(std::abs(moment.mean - row.second) <= 4 * moment.error);
  }
}

TEST_CASE("lesson: local steps on different losses end at their own fixed point") {
  const Task two = bowl(R"("curvatures": [[1], [3]], "centres": [[0], [1]], "start": [0])");
  for (const auto& row :
       {std::pair(1, .75), std::pair(2, .7285714286), std::pair(4, .6884399348),
        std::pair(8, .6232961681), std::pair(16, .5502322151), std::pair(64, .5002949284)}) {
    LessonPlan plan = lesson_plan(two, 2, 0.1, 1024);
    plan.log.every = row.first;
    CHECK(learn(plan).weights.front() == doctest::Approx(row.second).epsilon(1e-9));
  }
}

// Two steps of rate 1/2 go 3/4 of the way to a worker's centre; of its move and what it has kept
// the larger coordinate is sent, and the mean of these moves the weights (Qsparse-local-SGD).
TEST_CASE("lesson: local steps whose changes are selected") {
  const Task task =
      bowl(R"("curvatures": [1, 1], "centres": [[1, 0.6], [-1, 0.9]], "start": [0, 0])");
  LessonPlan plan = lesson_plan(task, 2, 0.5, 0);
  plan.log.every = 2;
  plan.compressing = selecting(Numbers::topk, 0.5);
  const std::vector<std::pair<double, double>> after = {
      {0, 0},              // sent (0.75, 0) and (-0.75, 0); kept (0, 0.45) and (0, 0.675)
      {0, 1.125},          // (0, 0.9), (0, 1.35); kept (0.75, 0), (-0.75, 0)
      {0, 1.125},          // (1.5, 0), (-1.5, 0); kept (0, -0.39375), (0, -0.16875)
      {-0.375, 0.73125}};  // (0, -0.7875), (-0.75, 0)
  for (std::size_t i = 0; i < after.size(); ++i) {
    plan.iterations = 2 * static_cast<int64_t>(i + 1);
    const std::vector<double> weights = learn(plan).weights;
    CHECK(weights[0] == doctest::Approx(after[i].first).epsilon(1e-12));
    CHECK(weights[1] == doctest::Approx(after[i].second).epsilon(1e-12));
  }
  // Where all is sent, it is the average.
  plan.compressing = selecting(Numbers::topk, 1);
  LessonPlan dense = plan;
  dense.compressing = {};
  CHECK(learn(plan).weights == learn(dense).weights);
}

}  // namespace
}  // namespace sgdsim::learning
