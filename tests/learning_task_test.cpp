// Tasks of learning: gradients against finite differences, kernels against plain loops, floors and
// means that formulas give.
#include <array>
#include <cmath>
#include <doctest/doctest.h>
#include <vector>

#include "models/learning/elementary.h"
#include "models/learning/kernels.h"
#include "models/learning/registry.h"
#include "sim/core/error.h"
#include "tests/rounds.h"

namespace sgdsim::learning {
namespace {

Task task_of_text(const std::string& text) {
  const Json json = Json::parse(text);
  return read_task(Value(json, "task", ""));
}

double of_normal(double x) { return std::erfc(-x / std::sqrt(2.)) / 2; }

TEST_CASE("learning: exp, log and tanh are the C library's to 4 parts in 1e16") {
  for (int i = -7000; i <= 7000; ++i) {
    const double x = 0.1 * i;
    CHECK(exp_of(x) == doctest::Approx(std::exp(x)).epsilon(1e-15));
    CHECK(tanh_of(x / 100) == doctest::Approx(std::tanh(x / 100)).epsilon(4e-15));
    const double y = std::exp(x);
    CHECK(std::abs(log_of(y) - std::log(y)) <= 4.5e-16 * std::max(1., std::abs(x)));
  }
  CHECK(exp_of(-1000) == 0);
  CHECK(std::isinf(exp_of(1000)));
  CHECK(std::isnan(exp_of(std::nan(""))));
  CHECK(std::isinf(log_of(0)));
  CHECK(std::isnan(log_of(-1)));
  CHECK(log_of(5e-324) == doctest::Approx(std::log(5e-324)).epsilon(1e-15));
}

TEST_CASE("learning: draws have the moments of a normal distribution, and depend on all numbers") {
  const int count = 100'000;
  double sum = 0;
  double squares = 0;
  double fourths = 0;
  for (int i = 0; i < count; ++i) {
    const double x = Draws(1, 2, 3, static_cast<uint64_t>(i)).normal();
    sum += x;
    squares += x * x;
    fourths += x * x * x * x;
  }
  const double four_errors = 4 / std::sqrt(static_cast<double>(count));
  CHECK(std::abs(sum / count) < four_errors);
  CHECK(std::abs(squares / count - 1) < four_errors * std::sqrt(2.));
  CHECK(std::abs(fourths / count - 3) < four_errors * std::sqrt(96.));
  const uint64_t one = Draws(1, 2, 3, 4).bits();
  CHECK(one == Draws(1, 2, 3, 4).bits());
  for (const auto& other : {Draws(2, 2, 3, 4), Draws(1, 3, 3, 4), Draws(1, 2, 4, 4),
                            Draws(1, 2, 3, 5), Draws(2, 1, 3, 4)}) {
    Draws copy = other;
    CHECK(copy.bits() != one);
  }
}

// The product's definition: one term after the other, in its own precision.
template <class Real>
void check_products() {
  for (const std::array<std::size_t, 3> size :
       {std::array<std::size_t, 3>{1, 1, 1}, {4, 7, 8}, {5, 3, 10}, {9, 33, 21}, {3, 0, 5}}) {
    const std::size_t rows = size[0];
    const std::size_t depth = size[1];
    const std::size_t columns = size[2];
    Draws draws(1, rows, depth, columns);
    std::vector<Real> a(rows * depth);
    std::vector<Real> b(depth * columns);
    std::vector<Real> c(rows * columns);
    for (auto* values : {&a, &b, &c})
      for (Real& value : *values) value = static_cast<Real>(draws.normal());
    std::vector<Real> expected = c;
    for (std::size_t i = 0; i < rows; ++i)
      for (std::size_t j = 0; j < columns; ++j)
        for (std::size_t k = 0; k < depth; ++k) {
          const Real term = a[i * depth + k] * b[k * columns + j];
          expected[i * columns + j] += term;
        }
    std::vector<Real> turned(a.size());
    transpose(a.data(), rows, depth, turned.data());
    std::vector<Real> again = c;
    add_product<Real>(
        {{a.data(), depth, 1}, b.data(), columns, c.data(), columns, rows, depth, columns});
    add_product<Real>(
        {{turned.data(), 1, rows}, b.data(), columns, again.data(), columns, rows, depth, columns});
    CHECK(c == expected);  // to the last bit
    CHECK(again == expected);
  }
}

TEST_CASE("learning: products add one term after the other, whatever their size") {
  check_products<float>();
  check_products<double>();
}

TEST_CASE("learning: sums take every value once") {
  for (const std::size_t count : {0UL, 1UL, 7UL, 8UL, 9UL, 100UL}) {
    std::vector<float> values(count);
    for (std::size_t i = 0; i < count; ++i) values[i] = (i % 2 == 0 ? 1.F : -1.F) * float(i + 1);
    double sum = 0;
    double magnitudes = 0;
    double squares = 0;
    for (const float value : values) {
      sum += double(value);
      magnitudes += std::abs(double(value));
      squares += double(value) * double(value);
    }
    CHECK(sum_of(values.data(), count) == sum);  // whole numbers: exact in any order
    CHECK(sum_of_magnitudes(values.data(), count) == magnitudes);
    CHECK(sum_of_squares(values.data(), count) == squares);
    CHECK(largest_magnitude(values.data(), count) == static_cast<double>(count));
  }
}

TEST_CASE("learning: gradients of every tensor of every task agree with finite differences") {
  for (const TaskKind& kind : tasks()) {
    const Task task = task_of_text('"' + std::string(kind.name) + '"');
    std::vector<double> weights = task.precise.start(3);
    REQUIRE(weights.size() == task.weights());
    Draws draws(7, 0, 0, 0);
    for (double& weight : weights) weight += 0.01 * draws.normal();  // biases, too
    std::vector<double> gradient(weights.size());
    std::vector<double> unused(weights.size());
    const Batch batch{.seed = 5, .worker = 1, .iteration = 2, .samples = 3};
    task.precise.gradient(weights.data(), batch, gradient.data());
    for (const Tensor& tensor : task.tensors) {
      INFO(kind.name << ", " << tensor.name);
      double largest = 0;
      for (int i = 0; i < rounds(10); ++i) {
        const std::size_t at = tensor.offset + draws.below(static_cast<uint32_t>(tensor.size()));
        // So small that hardly any ReLU turns on the way; rounding adds 1e-16 / 1e-6.
        const double step = 1e-6;
        const double kept = weights[at];
        weights[at] = kept + step;
        const double above = task.precise.gradient(weights.data(), batch, unused.data());
        weights[at] = kept - step;
        const double below = task.precise.gradient(weights.data(), batch, unused.data());
        weights[at] = kept;
        CHECK(std::abs((above - below) / (2 * step) - gradient[at]) <= 1e-6);
        largest = std::max(largest, std::abs(gradient[at]));
      }
      CHECK(largest >= 0);
    }
    CHECK(sum_of_squares(gradient.data(), gradient.size()) > 0);
    // The same in float32, as far as its digits go.
    const std::vector<float> single(weights.begin(), weights.end());
    std::vector<float> rough(single.size());
    task.single.gradient(single.data(), batch, rough.data());
    double square = 0;
    for (std::size_t i = 0; i < rough.size(); ++i)
      square += (double(rough[i]) - gradient[i]) * (double(rough[i]) - gradient[i]);
    CHECK(square <= 1e-8 * sum_of_squares(gradient.data(), gradient.size()));
  }
}

// Plain descent with the mean of 64 samples.
template <class Real>
std::vector<Real> descended(const Task& task, const Model<Real>& model, double rate, int steps) {
  std::vector<Real> weights = model.start(1);
  std::vector<Real> gradient(weights.size());
  for (int i = 0; i < steps; ++i) {
    model.gradient(weights.data(), {.seed = 1, .worker = 0, .iteration = i, .samples = 64},
                   gradient.data());
    for (std::size_t j = 0; j < weights.size(); ++j)
      weights[j] -= static_cast<Real>(rate) * gradient[j];
  }
  (void)task;
  return weights;
}

TEST_CASE("learning: logistic comes close to the error that no rule is below") {
  const Task task = task_of_text(R"({"name": "logistic", "distance": 2})");
  const double bayes = of_normal(1);  // right: Phi(distance / 2) = 0.8413
  const auto weights = descended(task, task.single, 0.1, 300);
  const Score score = task.single.evaluate(weights.data());
  const double four_errors = 4 * std::sqrt(bayes * (1 - bayes) / 4000);
  CHECK(score.accuracy < bayes + four_errors);
  CHECK(score.accuracy > bayes - four_errors - 0.01);
}

TEST_CASE("learning: what is ours is better than guessing, and starts as guessing") {
  for (const TaskKind& kind : tasks()) {
    const Task task = task_of_text('"' + std::string(kind.name) + '"');
    const Score before = task.single.evaluate(task.single.start(1).data());
    const Score after = task.single.evaluate(descended(task, task.single, task.rate, 20).data());
    INFO(kind.name);
    CHECK(after.loss < before.loss);
    if (task.has_accuracy) CHECK(after.accuracy > before.accuracy);
  }
}

TEST_CASE("learning: least squares have the mean that its recursion says") {
  // E|w|^2 <- (1 - 2 rate + rate^2 (1 + (d + 1)/n)) E + rate^2 d noise^2 / n, from 1.
  struct Row {
    int dimensions;
    int batch;
    double rate;
    double expected;  // after ten steps
  };
  for (const Row& row : {Row{10, 1, 0.05, 0.5300553155}, Row{10, 8, 0.1, 0.1590444142}}) {
    const Task task = task_of_text(R"({"name": "least_squares", "noise": 0.5, "dimensions": )" +
                                   std::to_string(row.dimensions) + "}");
    const int paths = 4000;
    double sum = 0;
    double squares = 0;
    for (int path = 0; path < paths; ++path) {
      std::vector<double> weights = task.precise.start(1);
      std::vector<double> gradient(weights.size());
      for (int t = 0; t < 10; ++t) {
        task.precise.gradient(weights.data(), {static_cast<uint64_t>(path), 0, t, row.batch},
                              gradient.data());
        for (std::size_t j = 0; j < weights.size(); ++j) weights[j] -= row.rate * gradient[j];
      }
      const double away = 2 * task.precise.evaluate(weights.data()).loss - 0.25;
      sum += away;
      squares += away * away;
    }
    const double mean = sum / paths;
    const double error = std::sqrt((squares / paths - mean * mean) / paths);
    CHECK(std::abs(mean - row.expected) <= 4 * error);
  }
}

TEST_CASE("learning: fields of tasks are refused with what to write") {
  struct Row {
    std::string text;
    std::string says;
  };
  for (const Row& row :
       {Row{R"("mnist")", "unknown task"},
        Row{R"({"name": "quadratic", "curvatures": []})", "at least one"},
        Row{R"({"name": "quadratic", "curvatures": [1, 2], "start": [1]})", "expected 2 numbers"},
        Row{R"({"name": "quadratic", "curvatures": [1], "condition": 3})", "say either"},
        Row{R"({"name": "teacher_mlp", "width": 0})", "/width"},
        Row{R"({"name": "logistic", "distance": -1})", "/distance"},
        Row{R"({"name": "least_squares", "wdith": 3})", "wdith"}}) {
    INFO(row.text);
    try {
      task_of_text(row.text);
      FAIL("was taken");
    } catch (const InputError& error) {
      CHECK(std::string(error.what()).find(row.says) != std::string::npos);
    }
  }
}

}  // namespace
}  // namespace sgdsim::learning
