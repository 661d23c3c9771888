// A network with two hidden layers (32-128-128-10, 22,026 weights) learns what a teacher says: the
// largest output of a random network 32-24-10 with tanh. There is no noise: what is missing to 100
// % is what so many samples and iterations do not teach.
#include <array>

#include "models/learning/dense_network.h"
#include "models/learning/registry.h"

namespace sgdsim::learning::teacher_mlp {
namespace {

constexpr std::size_t width = 32;
constexpr std::size_t hidden_of_teacher = 24;
constexpr std::size_t classes = 10;
constexpr double gain_of_teacher = 1.5;  // of what goes into tanh: its deviation

Samples taught(uint64_t seed, uint64_t part, std::size_t count) {
  Draws teacher(seed, drawn_for::data, 0, 0);
  std::vector<double> first(width * hidden_of_teacher);
  std::vector<double> second(hidden_of_teacher * classes);
  for (double& weight : first) weight = teacher.normal() * gain_of_teacher / std::sqrt(32.);
  for (double& weight : second) weight = teacher.normal();
  Samples samples;
  samples.width = width;
  samples.values.reserve(count * width);
  for (std::size_t i = 0; i < count; ++i) {
    Draws draws(seed, part, 1, i);
    std::array<double, hidden_of_teacher> hidden{};
    for (std::size_t j = 0; j < width; ++j) {
      const auto value = static_cast<float>(draws.normal());
      samples.values.push_back(value);
      for (std::size_t k = 0; k < hidden_of_teacher; ++k)
        hidden[k] += static_cast<double>(value) * first[j * hidden_of_teacher + k];
    }
    std::array<double, classes> outputs{};
    for (std::size_t k = 0; k < hidden_of_teacher; ++k)
      for (std::size_t c = 0; c < classes; ++c)
        outputs[c] += tanh_of(hidden[k]) * second[k * classes + c];
    const auto largest = std::max_element(outputs.begin(), outputs.end());
    samples.labels.push_back(static_cast<uint8_t>(largest - outputs.begin()));
  }
  return samples;
}

struct Options {
  std::size_t width = 128;
  DataSize data{.training = 20'000, .held_out = 4'000};
};

Fields fields_of(Options& o) {
  return Fields{Field("width", o.width, "width of the hidden layers").from(1, 4096)} +
         fields_of(o.data);
}

Task read(Object& fields) {
  const auto options = read_record<Options>(fields);
  const std::size_t width_of_layers = options.width;
  const DataSize& data = options.data;
  const auto network = std::make_shared<const DenseNetwork>(
      std::vector<DenseShape>{
          {width, width_of_layers}, {width_of_layers, width_of_layers}, {width_of_layers, classes}},
      2, taught(data.seed, drawn_for::data, data.training),
      taught(data.seed, drawn_for::held_out, data.held_out));
  Task task = task_around(network, network->tensors());
  task.has_accuracy = true;
  task.rate = 0.2;
  return task;
}

}  // namespace

TaskKind describe() {
  return {"teacher_mlp", "32-128-128-10 with ReLU learns the classes that a random teacher says",
          options_of<Options>, read};
}

}  // namespace sgdsim::learning::teacher_mlp
