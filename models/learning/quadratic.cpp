// The loss sum of h_j (w_j - c_j)^2 / 2 with noise on every gradient: what can be said of
// staleness, compression and averaging with a pencil can be said of it exactly. It learns in
// double.
//
// Workers may have centres c and curvatures h of their own (rows, used in turn): the loss is then
// the mean of theirs. Coordinates with the same curvature are so many independent paths of one.
#include <algorithm>
#include <cmath>

#include "models/learning/elementary.h"
#include "models/learning/kernels.h"
#include "models/learning/registry.h"

namespace sgdsim::learning::quadratic {
namespace {

struct Bowl {
  std::vector<std::vector<double>> curvatures;  // one row, or a row per worker
  std::vector<std::vector<double>> centres;     // one row, or a row per worker
  std::vector<double> first;                    // where it starts
  double noise = 0;

  static const std::vector<double>& of(const std::vector<std::vector<double>>& rows,
                                       std::size_t worker) {
    return rows[worker % rows.size()];
  }

  template <class Real>
  std::vector<Real> start(uint64_t) const {
    return std::vector<Real>(first.begin(), first.end());
  }

  template <class Real>
  double gradient(const Real* weights, const Batch& batch, Real* gradient) const {
    const std::size_t size = first.size();
    std::vector<double> drawn(noise > 0 ? size : 0);
    for (int i = 0; i < batch.samples && noise > 0; ++i) {
      Draws draws(batch.seed, static_cast<uint64_t>(batch.worker),
                  static_cast<uint64_t>(batch.iteration), static_cast<uint64_t>(i));
      for (double& sum : drawn) sum += draws.normal();
    }
    const auto worker = static_cast<std::size_t>(batch.worker);
    const std::vector<double>& middle = of(centres, worker);
    const std::vector<double>& steep = of(curvatures, worker);
    double loss = 0;
    for (std::size_t j = 0; j < size; ++j) {
      const double away = static_cast<double>(weights[j]) - middle[j];
      const double push = noise > 0 ? noise * drawn[j] / batch.samples : 0;
      loss += steep[j] * away * away / 2 + push * static_cast<double>(weights[j]);
      gradient[j] = static_cast<Real>(steep[j] * away + push);
    }
    return loss;
  }

  template <class Real>
  Score evaluate(const Real* weights) const {
    const std::size_t rows = std::max(centres.size(), curvatures.size());
    double loss = 0;
    for (std::size_t row = 0; row < rows; ++row)
      for (std::size_t j = 0; j < first.size(); ++j) {
        const double away = static_cast<double>(weights[j]) - of(centres, row)[j];
        loss += of(curvatures, row)[j] * away * away / 2;
      }
    return {loss / static_cast<double>(rows), 0};
  }
};

std::vector<double> numbers(const Value& list, double least, double most) {
  std::vector<double> all;
  for (const Value& item : list.items()) all.push_back(item.number(least, most));
  if (all.empty()) list.fail("expected at least one number");
  return all;
}

// So many as there are curvatures.
std::vector<double> row(const Value& list, std::size_t size) {
  std::vector<double> all = numbers(list, -1e6, 1e6);
  if (all.size() != size)
    list.fail("expected " + std::to_string(size) + " numbers, one for each coordinate, got " +
              std::to_string(all.size()));
  return all;
}

// From `most` down to `least`, each by the same factor.
std::vector<double> spread(std::size_t size, double condition) {
  std::vector<double> all(size, 1);
  for (std::size_t i = 1; i < size; ++i)
    all[i] = exp_of(-log_of(condition) * static_cast<double>(i) / static_cast<double>(size - 1));
  return all;
}

Task read(Object& fields) {
  Bowl bowl;
  std::size_t size = 100;
  double condition = 100;
  if (const auto field = fields.find("dimensions"))
    size = static_cast<std::size_t>(field->whole(1, 10'000'000));
  if (const auto field = fields.find("condition")) condition = field->number(1, 1e12);
  if (const auto field = fields.find("curvatures")) {
    if (fields.has("dimensions") || fields.has("condition"))
      field->fail("say either `curvatures`, or `dimensions` and `condition`");
    const bool has_rows = field->size() > 0 && field->items().front().json().is_array();
    if (!has_rows) bowl.curvatures.push_back(numbers(*field, 0, 1e6));
    for (const Value& one : has_rows ? field->items() : std::vector<Value>())
      bowl.curvatures.push_back(numbers(one, 0, 1e6));
    size = bowl.curvatures.front().size();
    for (const std::vector<double>& one : bowl.curvatures)
      if (one.size() != size) field->fail("expected rows of the same length");
  }
  if (bowl.curvatures.empty()) bowl.curvatures.push_back(spread(size, condition));
  bowl.noise = 0.1;
  if (const auto field = fields.find("noise")) bowl.noise = field->number(0, 1e6);
  bowl.first.assign(size, 1);
  if (const auto field = fields.find("start")) bowl.first = row(*field, size);
  if (const auto field = fields.find("centres"))
    for (const Value& one : field->items()) bowl.centres.push_back(row(one, size));
  if (bowl.centres.empty()) bowl.centres.emplace_back(size, 0.);
  const auto shared = std::make_shared<const Bowl>(std::move(bowl));
  Task task = task_around(shared, {{"weights", 1, size, 0}});
  task.learns_in_double = true;
  task.rate = 0.1;
  return task;
}

}  // namespace

TaskKind describe() {
  return {"quadratic", "a bowl with given curvatures and noise; exact, and in double", read};
}

}  // namespace sgdsim::learning::quadratic
