// Lessons against what a pencil gives: recursions of moments, fixed points, conservation; and rules
// that must be the same to the last bit where they do the same.
#include <cmath>
#include <doctest/doctest.h>
#include <numeric>
#include <vector>

#include "models/learning/exchange.h"
#include "models/learning/lesson.h"
#include "tests/gtopk_reference.h"
#include "tests/lesson_cases.h"

namespace sgdsim::learning {
namespace {

double first_weight(LessonPlan plan, int64_t iterations) {
  plan.iterations = iterations;
  return learn(plan).weights.front();
}

TEST_CASE("lesson: late sums, as the recursion w' = w - a w[-K] says") {
  const Task one = bowl(R"("curvatures": [1])");
  LessonPlan plan = lesson_plan(one, 1, 0.1, 0);
  plan.log.width = 2;
  const std::vector<double> expected = {0.9, 0.8, 0.71, 0.63, 0.559, 0.496};
  for (std::size_t i = 0; i < expected.size(); ++i)
    CHECK(first_weight(plan, static_cast<int64_t>(i) + 2) ==
          doctest::Approx(expected[i]).epsilon(1e-12));
  struct Row {
    int width;
    double after_59;
    double digits;
  };
  for (const Row& row : {Row{1, 0.001996678111, 1e-9}, Row{2, 0.000988790666, 1e-9},
                         Row{4, 0.000018883733, 1e-7}, Row{8, -0.002176, 5e-4}}) {
    plan.log.width = row.width;
    CHECK(std::abs(first_weight(plan, 59) / row.after_59 - 1) < row.digits);
  }
}

TEST_CASE("lesson: late sums converge below a = 2 sin(pi / (2 (2 K - 1))), and not above") {
  const Task one = bowl(R"("curvatures": [1])");
  struct Row {
    int width;
    double below;
    double above;
  };
  for (const Row& row : {Row{1, 1.99, 2.01}, Row{2, 0.99, 1.01}, Row{8, 0.20, 0.21}}) {
    LessonPlan plan = lesson_plan(one, 1, row.below, 0);
    plan.log.width = row.width;
    CHECK(std::abs(first_weight(plan, 4000)) < 1e-6);
    plan.optimizer.rate = row.above;
    CHECK(std::abs(first_weight(plan, 4000)) > 1);
  }
}

constexpr char paths[] = R"("dimensions": 100000, "condition": 1)";

TEST_CASE("lesson: the moments of late sums") {
  const Task noisy =
      lesson_task(R"({"name": "quadratic", "noise": 0.5, )" + std::string(paths) + "}");
  struct Row {
    int width;
    int64_t updates;
    double expected;
  };
  for (const Row& row : {Row{1, 5, 0.3572484606}, Row{2, 8, 0.1647639925}, Row{4, 5, 0.2721250000},
                         Row{8, 8, 0.06}, Row{8, 5, 0.2625}}) {
    LessonPlan plan = lesson_plan(noisy, 1, 0.1, row.updates + row.width - 1);
    plan.evaluate = 1000;
    plan.log.width = row.width;
    const Moment moment = square_of(plan);
    CHECK(std::abs(moment.mean - row.expected) <= 4 * moment.error);
  }
}

TEST_CASE("lesson: the moments of random selection, with feedback and without") {
  const Task noisy =
      lesson_task(R"({"name": "quadratic", "noise": 1, )" + std::string(paths) + "}");
  struct Row {
    double density;
    bool feedback;
    int64_t iterations;
    double expected;
  };
  for (const Row& row : {Row{0.5, true, 5, 0.4557912201}, Row{0.5, true, 20, 0.0701046428},
                         Row{0.1, true, 20, 0.3277799084}, Row{0.5, false, 20, 0.1813054861},
                         Row{0.1, false, 20, 0.6981357483}}) {
    LessonPlan plan = lesson_plan(noisy, 1, 0.1, row.iterations);
    plan.evaluate = 1000;
    plan.compressing = selecting(Numbers::random, row.density, row.feedback);
    const Moment moment = square_of(plan);
    CHECK(std::abs(moment.mean - row.expected) <= 4 * moment.error);
  }
}

TEST_CASE("lesson: the moments of elements that are lost and count as zero") {
  const Task noisy =
      lesson_task(R"({"name": "quadratic", "noise": 1, )" + std::string(paths) + "}");
  for (const auto& row : {std::pair(0.1, 0.0748959030), std::pair(0.3, 0.1071949072)}) {
    LessonPlan plan = lesson_plan(noisy, 1, 0.1, 20);
    plan.evaluate = 1000;
    plan.losses.push = row.first;
    plan.losses.packet = 1;
    const Moment moment = square_of(plan);
    CHECK(std::abs(moment.mean - row.second) <= 4 * moment.error);
  }
}

// Four workers that disagree.
Task disagreement() {
  Json centres = Json::array();
  for (int i = 0; i < 4; ++i) {
    Json row = Json::array();
    for (int j = 0; j < 6; ++j) row.push_back((((3 * i + 5 * j) % 7) - 3) / 3.);
    centres.push_back(row);
  }
  return bowl(R"("curvatures": [1, 0.8, 0.6, 0.4, 0.2, 0.1], "start": [0, 0, 0, 0, 0, 0],
                 "centres": )" +
              centres.dump());
}

TEST_CASE("lesson: selection with feedback where workers disagree") {
  const Task task = disagreement();
  struct Row {
    Numbers numbers;
    bool leaks;
    std::vector<double> expected;
  };
  const std::vector<std::size_t> at = {1, 2, 3, 10, 200};
  for (const Row& row : {Row{Numbers::topk,
                             false,
                             {0.721977431, 0.721698571, 0.687738315, 0.671943834, 0.664728593}},
                         Row{Numbers::gtopk,
                             false,
                             {0.734722222, 0.725388889, 0.725388889, 0.697942691, 0.711441204}},
                         Row{Numbers::gtopk,
                             true,
                             {0.734722222, 0.725388889, 0.725388889, 0.694355308, 0.691574418}}}) {
    LessonPlan plan = lesson_plan(task, 4, 0.25, 200);
    plan.compressing = selecting(row.numbers, 1. / 6);
    plan.compressing.leaks = row.leaks;
    const Lesson lesson = learn(plan);
    for (std::size_t i = 0; i < at.size(); ++i)
      CHECK(std::abs(lesson.curve[at[i]].loss - row.expected[i]) <= 6e-10);
  }
}

TEST_CASE("lesson: one worker's largest, with feedback and without") {
  const Task task = bowl(R"("curvatures": [1, 0.5, 0.1])");
  for (const auto& row : {std::pair(true, std::vector{0.003808, 0.010353112, 0.3897821128}),
                          std::pair(false, std::vector{0.05764801, 0.1422417571, 0.7374241269})}) {
    LessonPlan plan = lesson_plan(task, 1, 0.3, 30);
    plan.compressing = selecting(Numbers::topk, 1. / 3, row.first);
    const std::vector<double> weights = learn(plan).weights;
    for (std::size_t i = 0; i < 3; ++i) CHECK(std::abs(weights[i] - row.second[i]) <= 6e-11);
  }
}

// w - rate * mean residual = first w - rate * sum of all mean gradients.
TEST_CASE("lesson: what is not sent is kept, by every operator but the one that leaks") {
  const int workers = 5;
  const std::size_t size = 60;
  const std::vector<Tensor> tensors = placed({{"matrix", 6, 8, 0}, {"vector", 1, 12, 0}});
  for (int number = 0; number <= static_cast<int>(Numbers::powersgd) + 1; ++number) {
    const bool leaks = number == static_cast<int>(Numbers::powersgd) + 1;
    Compressing compressing =
        selecting(leaks ? Numbers::gtopk : static_cast<Numbers>(number), 0.05);
    compressing.leaks = leaks;
    compressing.threshold = 1;
    compressing.rank = 2;
    compressing.bucket = 16;
    Exchange<double> exchange(compressing, tensors, workers, 1);
    std::vector<double> given(size);
    std::vector<double> taken(size);
    for (int t = 0; t < 30; ++t) {
      std::vector<std::vector<double>> gradients(workers, std::vector<double>(size));
      for (int i = 0; i < workers; ++i)
        for (std::size_t j = 0; j < size; ++j)
          given[j] += gradients[static_cast<std::size_t>(i)][j] =
              std::sin(1.0 + i + 7.0 * static_cast<double>(j) + 13.0 * t * (i + 2));
      std::vector<double> sum(size);
      exchange.sum(gradients, t, sum);
      for (std::size_t j = 0; j < size; ++j) taken[j] += sum[j];
    }
    double worst = 0;
    for (std::size_t j = 0; j < size; ++j) {
      double kept = 0;
      for (int i = 0; i < workers && exchange.keeps_residuals(); ++i)
        kept += exchange.residual(i)[j];
      worst = std::max(worst, std::abs(given[j] - taken[j] - kept));
    }
    INFO(number);
    if (leaks)
      CHECK(worst > 0.1);
    else
      CHECK(worst < 1e-11);
  }
}

TEST_CASE("lesson: gTop-k is the published operator, entry by entry") {
  for (const int workers : {1, 2, 3, 4, 6, 8})
    for (const bool leaks : {false, true}) {
      std::vector<DenseVector> vectors(static_cast<std::size_t>(workers), DenseVector(12));
      for (std::size_t i = 0; i < vectors.size(); ++i)
        for (std::size_t j = 0; j < 12; ++j)
          vectors[i][j] = std::sin(static_cast<double>(3 * i + 5 * j * j) + 0.5);
      const GtopkOutcome expected =
          gtopk(vectors, 3, leaks ? PutBack::global_absence : PutBack::survival);
      Compressing compressing = selecting(Numbers::gtopk, 0.25);
      compressing.leaks = leaks;
      Exchange<double> exchange(compressing, placed({{"all", 1, 12, 0}}), workers, 1);
      std::vector<double> sum;
      exchange.sum(vectors, 0, sum);
      std::vector<double> global(12);
      for (const SparseEntry& entry : expected.global)
        global[static_cast<std::size_t>(entry.index)] += entry.value;
      CHECK(sum == global);
      for (int i = 0; i < workers; ++i)
        CHECK(exchange.residual(i) == expected.residuals[static_cast<std::size_t>(i)]);
    }
}

TEST_CASE("lesson: PowerSGD's step on a matrix") {
  const std::vector<double> matrix = {1, 2, 3, 4, 5, 6};
  std::vector<double> q = {1, 0};
  std::vector<double> whole(6);
  const std::vector<double> p =
      power_step<double>({matrix.data()}, {"", 3, 2, 0}, 1, q, whole.data());
  const std::vector<double> expected = {0.1690308509, 0.5070925528, 0.8451542547};
  for (std::size_t i = 0; i < 3; ++i) CHECK(std::abs(p[i] - expected[i]) < 1e-10);
  CHECK(std::abs(q[0] - 5.9160797831) < 1e-10);
  CHECK(std::abs(q[1] - 7.4373574416) < 1e-10);
  double square = 0;
  for (std::size_t i = 0; i < 6; ++i) square += (whole[i] - matrix[i]) * (whole[i] - matrix[i]);
  CHECK(std::abs(square - 0.6857142857) < 1e-10);
}

TEST_CASE("lesson: QSGD rounds without bias, with the variance of its steps") {
  // Variance step^2 f (1 - f), f the distance to the lower step in steps.
  for (const auto& row : {std::pair(4, 0.01), std::pair(1, 0.21)}) {
    Compressing compressing = selecting(Numbers::qsgd, 1, false);
    compressing.levels = row.first;
    compressing.bucket = 0;
    const std::size_t size = 100'001;
    Exchange<double> exchange(compressing, placed({{"all", 1, size, 0}}), 1, 1);
    std::vector<double> values(size, 0.3);
    values.front() = 1;  // the largest
    exchange.send(0, values, 0);
    double mean = 0;
    double squares = 0;
    for (std::size_t i = 1; i < size; ++i) {
      mean += values[i] / 1e5;
      squares += (values[i] - 0.3) * (values[i] - 0.3) / 1e5;
    }
    CHECK(std::abs(mean - 0.3) <= 4 * std::sqrt(row.second / 1e5));
    CHECK(std::abs(squares / row.second - 1) < 0.02);
  }
}

TEST_CASE("lesson: workers at 2 and 3 units of time") {
  const Task one = bowl(R"("curvatures": [1])");
  LessonPlan plan = lesson_plan(one, 2, 0.4, 0);  // 0.4 / 2 for each push
  for (const int worker : {0, 1, 0, 0, 1, 0, 1, 0, 0, 1}) plan.log.visits.push_back({worker, 0});
  // After an even number of pushes.
  const std::vector<double> expected = {.6, .352, .1616, .08288, .043264};
  for (std::size_t i = 0; i < expected.size(); ++i)
    CHECK(first_weight(plan, static_cast<int64_t>(i) + 1) ==
          doctest::Approx(expected[i]).epsilon(1e-12));
  const auto counts = staleness_of(plan.log, 5);
  CHECK(counts == std::map<int64_t, int64_t>{{0, 3}, {1, 5}, {2, 2}});
  // The first four of these ten gradients missed 0, 1, 1 and 0 updates.
  CHECK(staleness_of(plan.log, 2) == std::map<int64_t, int64_t>{{0, 2}, {1, 2}});
}

// Workers with periods 2, 3, 5 and 7, whose pushes are applied at once, ties by rank: each gradient
// misses what came since its worker's last push. The mean is P - 1, whatever the periods.
TEST_CASE("lesson: staleness of workers with periods 2, 3, 5 and 7") {
  const std::vector<int> periods = {2, 3, 5, 7};
  UpdateLog log;
  log.workers = 4;
  std::vector<int> counts(4);
  for (int time = 1; log.visits.size() < 1000; ++time)
    for (int worker = 0; worker < 4 && log.visits.size() < 1000; ++worker)
      if (time % periods[static_cast<std::size_t>(worker)] == 0) {
        log.visits.push_back({worker, 0});
        ++counts[static_cast<std::size_t>(worker)];
      }
  CHECK(counts == std::vector<int>{426, 283, 170, 121});
  double sum = 0;
  int64_t most = 0;
  for (const auto& [missed, gradients] : staleness_of(log, 250)) {
    sum += static_cast<double>(missed * gradients);
    most = std::max(most, missed);
  }
  CHECK(sum / 1000 == doctest::Approx(2.991).epsilon(1e-9));
  CHECK(most == 9);
}

TEST_CASE("lesson: rules that do the same are the same to the last bit") {
  const Task task = lesson_task(R"({"name": "teacher_mlp", "width": 16, "training_samples": 500,
                                    "held_out_samples": 100})");
  LessonPlan plan = lesson_plan(task, 4, 0.2, 40);
  plan.samples = 2;
  plan.evaluate = 10;
  const std::vector<double> synchronous = learn(plan).weights;
  CHECK(learn(plan).weights == synchronous);
  const auto changed = [&](const std::function<void(LessonPlan&)>& change) {
    LessonPlan other = plan;
    change(other);
    return learn(other).weights == synchronous;
  };
  CHECK(changed([](LessonPlan& p) { p.log.every = 1; }));
  CHECK(changed([](LessonPlan& p) { p.log.synchronous = 5; }));
  for (const Numbers numbers :
       {Numbers::topk, Numbers::topk_of_sum, Numbers::gtopk, Numbers::random})
    CHECK(changed([&](LessonPlan& p) { p.compressing = selecting(numbers, 1); }));
  CHECK(changed([](LessonPlan& p) { p.losses.packet = 7; }));
  // A loss that is as good as none takes the way of losses.
  CHECK(changed([](LessonPlan& p) { p.losses.push = p.losses.pull = 1e-300; }));
  // An average after every step, by the way of averages.
  CHECK(changed([](LessonPlan& p) { p.optimizer.outer_rate = std::nextafter(1., 0.); }));
  // And those that do not the same are not.
  CHECK(!changed([](LessonPlan& p) { p.log.every = 2; }));
  CHECK(!changed([](LessonPlan& p) { p.log.width = 2; }));
  CHECK(!changed([](LessonPlan& p) { p.seed = 2; }));
  CHECK(!changed([](LessonPlan& p) { p.losses.pull = 0.5; }));
  CHECK(!changed([](LessonPlan& p) { p.compressing = selecting(Numbers::topk, 0.5); }));
}

TEST_CASE("lesson: a loss that is not finite ends the curve and says so") {
  const Task one = bowl(R"("curvatures": [1])");
  const Lesson lesson = learn(lesson_plan(one, 1, 1000, 500));
  CHECK(lesson.ended.starts_with("diverged: at iteration "));
  CHECK(lesson.curve.size() < 500);
  CHECK(lesson.curve.size() > 1);
}

// Four coordinates, a packet each, curvatures 1: what is lost by place stands still.
TEST_CASE("lesson: packets are lost where they are said to be") {
  const Json json = {
      {"name", "quadratic"}, {"curvatures", {1, 1, 1, 1}}, {"start", {1, 2, 4, 8}}, {"noise", 0}};
  const Task task = read_task(Value(json, "task", ""));
  LessonPlan plan;
  plan.task = &task;
  plan.log.workers = 2;
  plan.optimizer.rate = 0.1;
  plan.iterations = 3;
  plan.evaluate = 1;
  plan.losses.packet = 1;
  plan.losses.push = 0.5;
  plan.losses.push_by_place = {{0.25, 1}, {0.5, 0}, {1, 1}};
  const Lesson lesson = learn(plan);
  const std::vector<double> expected = {1, 2 * 0.9 * 0.9 * 0.9, 4, 8};
  REQUIRE(lesson.weights.size() == 4);
  for (std::size_t i = 0; i < 4; ++i)
    CHECK(lesson.weights[i] == doctest::Approx(expected[i]).epsilon(1e-12));
}

}  // namespace
}  // namespace sgdsim::learning
