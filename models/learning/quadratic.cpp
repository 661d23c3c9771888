// The loss sum of h_j (w_j - c_j)^2 / 2 with noise on every gradient: what can be said of
// staleness, compression and averaging with a pencil can be said of it exactly. It learns in
// double.
//
// Workers may have centres c and curvatures h of their own, a row for each of them: the loss is
// then the mean of theirs. Who asks for a lesson sees to it that there are as many rows as workers,
// or one. Coordinates with the same curvature are so many independent paths of one.
#include <algorithm>
#include <cmath>

#include "models/learning/elementary.h"
#include "models/learning/kernels.h"
#include "models/learning/registry.h"

namespace sgdsim::learning::quadratic {
namespace {

constexpr double most_number = 1e6;

struct Bowl {
  std::vector<std::vector<double>> curvatures;  // one row, or a row per worker
  std::vector<std::vector<double>> centres;     // likewise
  std::vector<double> first;                    // where it starts
  double noise = 0;

  static const std::vector<double>& of(const std::vector<std::vector<double>>& rows,
                                       std::size_t worker) {
    return rows.size() == 1 ? rows.front() : rows[worker];
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

// Numbers of one row, or of a row per worker.
std::vector<std::vector<double>> read_curvatures(const Value& value) {
  std::vector<std::vector<double>> rows;
  const auto add = [&](const Value& list) {
    std::vector<double>& row = rows.emplace_back();
    for (const Value& item : list.items()) row.push_back(item.number(0, most_number));
    if (row.empty()) list.fail("expected at least one number");
  };
  const bool has_rows = value.size() > 0 && value.items().front().json().is_array();
  if (!has_rows) add(value);
  for (const Value& one : has_rows ? value.items() : std::vector<Value>()) add(one);
  return rows;
}

Json schema_of_curvatures() {
  const Json row = list_schema({{"type", "number"}, {"minimum", 0}, {"maximum", most_number}}, 1);
  return any_of({row, list_schema(row)});
}

// So many as there are curvatures.
void check_row(const Value& list, std::size_t size) {
  if (list.size() != size)
    list.fail("expected " + std::to_string(size) + " numbers, one for each coordinate, got " +
              std::to_string(list.size()));
}

struct Options {
  std::size_t dimensions = 100;
  double condition = 100;
  std::optional<Value> curvatures;
  double noise = 0.1;
  std::vector<double> start;
  std::vector<std::vector<double>> centres;
};

Fields fields_of(Options& o) {
  return Fields{
      Field("dimensions", o.dimensions, "number of weights").from(1, 10'000'000),
      Field("condition", o.condition, "largest curvature over the smallest").from(1., 1e12),
      Field("curvatures", o.curvatures,
            "curvature of every weight: one list for all workers, or one for each of them")
          .like(schema_of_curvatures),
      Field("noise", o.noise, "deviation of the noise on every gradient").from(0., most_number),
      Field("start", o.start, "weights at the start")
          .from(-most_number, most_number)
          .otherwise("1 each"),
      Field("centres", o.centres,
            "where the loss is least: one list for all workers, or one for each of them")
          .from(-most_number, most_number)
          .otherwise("0 each")}
      .at_most_one({"curvatures", "dimensions"},
                   "say either `curvatures`, or `dimensions` and `condition`")
      .at_most_one({"curvatures", "condition"},
                   "say either `curvatures`, or `dimensions` and `condition`");
}

// From `most` down to `least`, each by the same factor.
std::vector<double> spread(std::size_t size, double condition) {
  std::vector<double> all(size, 1);
  for (std::size_t i = 1; i < size; ++i)
    all[i] = exp_of(-log_of(condition) * static_cast<double>(i) / static_cast<double>(size - 1));
  return all;
}

Task read(Object& fields) {
  auto options = read_record<Options>(fields);
  Bowl bowl;
  std::size_t size = options.dimensions;
  if (options.curvatures) {
    bowl.curvatures = read_curvatures(*options.curvatures);
    size = bowl.curvatures.front().size();
    for (const std::vector<double>& one : bowl.curvatures)
      if (one.size() != size) options.curvatures->fail("expected rows of the same length");
  } else {
    bowl.curvatures.push_back(spread(size, options.condition));
  }
  bowl.noise = options.noise;
  bowl.first.assign(size, 1);
  if (const auto field = fields.find("start")) {
    check_row(*field, size);
    bowl.first = std::move(options.start);
  }
  if (const auto field = fields.find("centres"))
    for (const Value& one : field->items()) check_row(one, size);
  bowl.centres = std::move(options.centres);
  if (bowl.centres.empty()) bowl.centres.emplace_back(size, 0.);
  const std::vector<WorkerLists> lists = {{"curvatures", bowl.curvatures.size()},
                                          {"centres", bowl.centres.size()}};
  const auto shared = std::make_shared<const Bowl>(std::move(bowl));
  Task task = task_around(shared, {{"weights", 1, size, 0}});
  task.learns_in_double = true;
  task.rate = 0.1;
  task.lists = lists;
  return task;
}

}  // namespace

TaskKind describe() {
  return {"quadratic", "a bowl with given curvatures and noise; exact, and in double",
          options_of<Options>, read};
}

}  // namespace sgdsim::learning::quadratic
