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

// What is always sent as a whole is never forgotten: momentum of workers is then that of the sum.
// Where all is selected, to the last bit as dense; a curvature of 1 with one coordinate has its
// sign times the magnitude, which is all of it.
TEST_CASE("lesson: momentum of workers is forgotten where elements are left out, and only there") {
  const Task task = bowl(R"("curvatures": [1, 0.5, 0.2], "start": [0, 0, 0],
                           "centres": [[1, -2, 0.5], [-0.5, 3, 1], [0.25, 0.75, -4]])");
  LessonPlan plan = lesson_plan(task, 3, 0.05, 30);
  plan.optimizer.momentum = 0.9;
  plan.optimizer.momentum_on_worker = true;
  const std::vector<double> dense = learn(plan).weights;
  for (const Numbers numbers :
       {Numbers::topk, Numbers::topk_of_sum, Numbers::gtopk, Numbers::random})
    for (const bool feedback : {true, false}) {
      plan.compressing = selecting(numbers, 1, feedback);
      CHECK(learn(plan).weights == dense);
    }
  const Task one = bowl(R"("curvatures": [1])");
  LessonPlan alone = lesson_plan(one, 1, 0.1, 20);
  alone.optimizer.momentum = 0.9;
  alone.optimizer.momentum_on_worker = true;
  const double whole = learn(alone).weights.front();
  for (const Numbers numbers : {Numbers::sign, Numbers::quantize8, Numbers::powersgd})
    for (const bool feedback : {true, false}) {
      alone.compressing = selecting(numbers, 1, feedback);
      CHECK(learn(alone).weights.front() == doctest::Approx(whole).epsilon(1e-12));
    }
  // And with pushes in order.
  for (int i = 0; i < 21; ++i) alone.log.visits.push_back({0, 0});
  alone.compressing = selecting(Numbers::sign, 1);
  CHECK(learn(alone).weights.front() == doctest::Approx(whole).epsilon(1e-12));
}

// One worker, two coordinates, the larger momentum is sent and forgotten, and nothing is kept of
// the other one but its momentum: v = 0.9 v + h w.
TEST_CASE("lesson: without feedback, momentum of workers is forgotten where it was sent") {
  const Task two = bowl(R"("curvatures": [1, 0.5], "start": [1, 1])");
  LessonPlan plan = lesson_plan(two, 1, 0.1, 14);
  plan.optimizer.momentum = 0.9;
  plan.optimizer.momentum_on_worker = true;
  plan.compressing = selecting(Numbers::topk, 0.5, false);
  double w[2] = {1, 1};
  double v[2] = {0, 0};
  for (int t = 0; t < 14; ++t) {
    for (int j = 0; j < 2; ++j) v[j] = 0.9 * v[j] + (j == 0 ? 1 : 0.5) * w[j];
    const int sent = std::abs(v[0]) >= std::abs(v[1]) ? 0 : 1;
    w[sent] -= 0.1 * v[sent];
    v[sent] = 0;
  }
  const std::vector<double> weights = learn(plan).weights;
  for (std::size_t j = 0; j < 2; ++j) CHECK(weights[j] == doctest::Approx(w[j]).epsilon(1e-12));
}

}  // namespace
}  // namespace sgdsim::learning
