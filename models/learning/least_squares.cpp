// y = x w* + noise with x ~ N(0, I), every sample new: a worker's gradient is x (x (w - w*) -
// noise). It starts at |w - w*| = 1. The mean of |w - w*|^2 has an exact recursion for every batch,
// so this is the task that shows what the size of a batch does. Its loss is the true one, not that
// of samples: (|w - w*|^2 + noise^2) / 2.
#include <cmath>

#include "models/learning/elementary.h"
#include "models/learning/kernels.h"
#include "models/learning/registry.h"

namespace sgdsim::learning::least_squares {
namespace {

struct Line {
  std::vector<double> truth;  // w*, of length 1; weights start at 0
  double noise;

  template <class Real>
  std::vector<Real> start(uint64_t) const {
    return std::vector<Real>(truth.size());
  }

  template <class Real>
  double gradient(const Real* weights, const Batch& batch, Real* gradient) const {
    const std::size_t size = truth.size();
    std::vector<double> sum(size);
    std::vector<double> x(size);
    double loss = 0;
    for (int i = 0; i < batch.samples; ++i) {
      Draws draws(batch.seed, static_cast<uint64_t>(batch.worker),
                  static_cast<uint64_t>(batch.iteration), static_cast<uint64_t>(i));
      double error = 0;
      for (std::size_t j = 0; j < size; ++j) {
        x[j] = draws.normal();
        error += x[j] * (static_cast<double>(weights[j]) - truth[j]);
      }
      error -= noise * draws.normal();
      for (std::size_t j = 0; j < size; ++j) sum[j] += error * x[j];
      loss += error * error / 2;
    }
    for (std::size_t j = 0; j < size; ++j) gradient[j] = static_cast<Real>(sum[j] / batch.samples);
    return loss / batch.samples;
  }

  template <class Real>
  Score evaluate(const Real* weights) const {
    std::vector<double> errors(truth.size());
    for (std::size_t j = 0; j < truth.size(); ++j)
      errors[j] = static_cast<double>(weights[j]) - truth[j];
    return {(sum_of_squares(errors.data(), errors.size()) + noise * noise) / 2, 0};
  }
};

struct Options {
  std::size_t dimensions = 100;
  double noise = 0.5;
  uint64_t seed = 1;
};

Fields fields_of(Options& o) {
  return {Field("dimensions", o.dimensions, "number of weights").from(1, 1'000'000),
          Field("noise", o.noise, "deviation of the noise on what is measured").from(0., 1e6),
          data_seed_field(o.seed)};
}

Task read(Object& fields) {
  const auto options = read_record<Options>(fields);
  const std::size_t size = options.dimensions;
  Draws draws(options.seed, drawn_for::data, 0, 0);
  std::vector<double> truth(size);
  for (double& weight : truth) weight = draws.normal();
  const double length = std::sqrt(sum_of_squares(truth.data(), size));
  for (double& weight : truth) weight /= length;
  const auto line = std::make_shared<const Line>(Line{std::move(truth), options.noise});
  Task task = task_around(line, {{"weights", 1, size, 0}});
  task.rate = 0.1;
  return task;
}

}  // namespace

TaskKind describe() {
  return {"least_squares", "a linear model on fresh normal samples; exact in the mean",
          options_of<Options>, read};
}

}  // namespace sgdsim::learning::least_squares
