// A task: a small model, samples of it, and what is measured of its weights.
//
// A task is one file and one line in registry.h. Its data are generated from a seed of their own or
// ship with it. Samples are drawn with replacement, by (seed, worker, iteration, sample). Every
// task computes in float32, as people train, and in double, in which gradients are checked.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "sim/core/part.h"

namespace sgdsim {

namespace learning {

// A place in the list of all weights. A vector has one row.
struct Tensor {
  std::string name;
  std::size_t rows = 1;
  std::size_t columns = 1;
  std::size_t offset = 0;
  std::size_t size() const { return rows * columns; }
};

// Which samples: those of a worker in an iteration.
struct Batch {
  uint64_t seed = 1;
  int worker = 0;
  int64_t iteration = 0;
  int samples = 1;
};

struct Score {  // on what is held out
  double loss = 0;
  double accuracy = 0;  // where the task has one
};

template <class Real>
struct Model {
  std::function<std::vector<Real>(uint64_t seed)> start;
  // Writes the gradient of the batch's mean loss, and returns that loss.
  std::function<double(const Real* weights, const Batch& batch, Real* gradient)> gradient;
  std::function<Score(const Real* weights)> evaluate;
};

// A field of a task with a list for all workers, or one for each of them.
struct WorkerLists {
  std::string field;
  std::size_t count = 1;
};

struct Task {
  std::string name;
  std::vector<Tensor> tensors;
  Model<float> single;
  Model<double> precise;
  bool learns_in_double = false;
  bool has_accuracy = false;
  double rate = 0.1;  // of learning; what a lesson has that names none
  int samples = 64;   // of all workers in an iteration, likewise
  int iterations = 1000;
  std::vector<WorkerLists> lists;  // where workers may have losses of their own

  std::size_t weights() const { return tensors.back().offset + tensors.back().size(); }
};

// How many samples there are, and the seed they are drawn from.
struct DataSize {
  std::size_t training = 0;
  std::size_t held_out = 0;
  uint64_t seed = 1;
  int64_t most_training = 10'000'000;
};
Field data_seed_field(uint64_t& seed);
Fields fields_of(DataSize& size);

// Gives tensors their offsets.
std::vector<Tensor> placed(std::vector<Tensor> tensors);

// A task around a network: a type with start<Real>(seed), gradient<Real>(weights, batch, gradient)
// and evaluate<Real>(weights).
template <class Network>
Task task_around(std::shared_ptr<const Network> network, std::vector<Tensor> tensors) {
  Task task;
  task.tensors = placed(std::move(tensors));
  const auto fill = [&network]<class Real>(Model<Real>& model) {
    model.start = [network](uint64_t seed) { return network->template start<Real>(seed); };
    model.gradient = [network](const Real* weights, const Batch& batch, Real* gradient) {
      return network->template gradient<Real>(weights, batch, gradient);
    };
    model.evaluate = [network](const Real* weights) {
      return network->template evaluate<Real>(weights);
    };
  };
  fill(task.single);
  fill(task.precise);
  return task;
}

struct TaskKind {
  std::string_view name;
  std::string_view summary;
  PartOptions (*options)();
  Task (*read)(Object& fields);
};

// "teacher_mlp", or {"name": "quadratic", "curvatures": [1, 0.5]}.
Task read_task(const Value& value);
Json schema_of_tasks();

}  // namespace learning

}  // namespace sgdsim
