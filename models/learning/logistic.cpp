// Two normal clouds in 32 dimensions with unit variance, their centres `distance` apart, told apart
// by a softmax over two linear outputs (66 weights). Convex, with a floor that no training passes:
// the best rule errs with probability Phi(-distance / 2).
#include "models/learning/dense_network.h"
#include "models/learning/registry.h"

namespace sgdsim::learning::logistic {
namespace {

constexpr std::size_t width = 32;

// The centres lie on a diagonal of the first coordinates' cube, so that all weights matter.
Samples clouds(double distance, uint64_t seed, uint64_t part, std::size_t count) {
  Samples samples;
  samples.width = width;
  const double step = distance / 2 / std::sqrt(static_cast<double>(width));
  for (std::size_t i = 0; i < count; ++i) {
    Draws draws(seed, part, 1, i);
    const bool second = draws.uniform() < 0.5;
    for (std::size_t j = 0; j < width; ++j)
      samples.values.push_back(static_cast<float>(draws.normal() + (second ? step : -step)));
    samples.labels.push_back(second ? 1 : 0);
  }
  return samples;
}

struct Options {
  double distance = 2;
  DataSize data{.training = 20'000, .held_out = 4'000};
};

Fields fields_of(Options& o) {
  return Fields{Field("distance", o.distance, "distance of the clouds' centres").from(0, 100)} +
         fields_of(o.data);
}

Task read(Object& fields) {
  const auto options = read_record<Options>(fields);
  const DataSize& data = options.data;
  const auto network = std::make_shared<const DenseNetwork>(
      std::vector<DenseShape>{{width, 2}}, 1,
      clouds(options.distance, data.seed, drawn_for::data, data.training),
      clouds(options.distance, data.seed, drawn_for::held_out, data.held_out));
  Task task = task_around(network, network->tensors());
  task.has_accuracy = true;
  task.rate = 0.1;
  return task;
}

}  // namespace

TaskKind describe() {
  return {"logistic", "two overlapping normal clouds, told apart by a linear model",
          options_of<Options>, read};
}

}  // namespace sgdsim::learning::logistic
