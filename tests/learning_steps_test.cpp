// Steps of optimizers against what a pencil gives: AdamW on servers, momentum of workers.
#include <cmath>
#include <doctest/doctest.h>
#include <vector>

#include "tests/lesson_cases.h"

namespace sgdsim::learning {
namespace {

// Adam's first step is as long as the rate, whatever the gradient is, and decay is a hundredth of
// the weight: two workers push w - rate / 2 (1 + w / 100) each, the second one with the gradient of
// the same weights, so that its moments are those of one gradient again.
TEST_CASE("lesson: every push of AdamW is a step of 1 / P of the rate") {
  const Task one = bowl(R"("curvatures": [1], "start": [1])");
  LessonPlan plan = lesson_plan(one, 2, 0.1, 1);
  plan.optimizer.adam = true;
  for (int i = 0; i < 4; ++i) plan.log.visits.push_back({i % 2, 0});
  const double first = 1 - 0.05 * 1.01;
  const double second = first - 0.05 * (1 + first / 100);
  CHECK(learn(plan).weights.front() == doctest::Approx(second).epsilon(1e-7));
  // A gradient that missed an update counts half.
  plan.optimizer.divides_by_staleness = true;
  const double half = first - 0.025 * (1 + first / 100);
  CHECK(learn(plan).weights.front() == doctest::Approx(half).epsilon(1e-7));
}

// Coordinates do not know of each other: two servers with half of them each, or one with all.
TEST_CASE("lesson: AdamW on several servers is AdamW on one") {
  const Task four = bowl(R"("curvatures": [1, 0.5, 0.3, 0.1], "start": [1, 2, -1, 3])");
  LessonPlan plan = lesson_plan(four, 2, 0.1, 12);
  plan.optimizer.adam = true;
  LessonPlan shared = plan;
  LessonPlan turned = plan;  // the second part is the first to be pushed
  shared.log.parts = turned.log.parts = 2;
  for (const int worker :
       {0, 1, 1, 0, 1, 0, 0, 0, 1, 1, 0, 1, 0, 1, 1, 0, 1, 0, 0, 1, 0, 1, 1, 0}) {
    plan.log.visits.push_back({worker, 0});
    for (const int part : {0, 1}) {
      shared.log.visits.push_back({worker, part});
      turned.log.visits.push_back({worker, 1 - part});
    }
  }
  const std::vector<double> weights = learn(plan).weights;
  CHECK(learn(shared).weights == weights);
  CHECK(learn(turned).weights == weights);
}

}  // namespace
}  // namespace sgdsim::learning
