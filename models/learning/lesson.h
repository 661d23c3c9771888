// A lesson: a task learned under an update log, from one seed.
//
// Its bits depend on nothing but what is here. The weights that are judged are those that all
// workers, or the servers, have; between two averages of local steps, the mean of the workers'.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "models/learning/compressing.h"
#include "models/learning/task.h"
#include "models/learning/update_log.h"

namespace sgdsim::learning {

struct Optimizer {
  double rate = 0.1;
  double momentum = 0;
  // The worker adds up its gradients before they are selected, and forgets what it has sent (DGC);
  // else momentum is that of the sum.
  bool momentum_on_worker = false;
  bool adam = false;  // AdamW in place of momentum
  double beta_1 = 0.9;
  double beta_2 = 0.999;
  double epsilon = 1e-8;
  double decay = 0.01;
  // With several steps between averages (DiLoCo): what is done with the mean change; Nesterov's.
  double outer_rate = 1;
  double outer_momentum = 0;
  // Asynchronous: a gradient that missed s updates counts 1 / (s + 1).
  bool divides_by_staleness = false;
};

// Whether workers descend by themselves, and average.
inline bool averages(const UpdateLog& log, const Optimizer& optimizer) {
  return log.every > 1 || optimizer.outer_momentum > 0 || optimizer.outer_rate != 1;
}

// From the front of the model on, until this part of its weights.
struct PlaceLoss {
  double until = 1;
  double part = 0;
};

// Packets that do not come: so many elements one after the other, of one tensor.
struct PacketLosses {
  enum class Of : unsigned char { all, first, middle, last, smallest, largest };
  double push = 0;                   // the part that is lost of gradients on their way to the sum
  double pull = 0;                   // of weights on their way back: a worker keeps its old ones
  bool divides_by_received = false;  // the sum; else by all workers
  int64_t packet = 364;              // elements: 1,456 B of float32
  Of of = Of::all;                   // which packets may be lost
  double fraction = 0.2;             // of the weights, if not all
  // In place of the same part everywhere, in growing order.
  std::vector<PlaceLoss> push_by_place = {};
  std::vector<PlaceLoss> pull_by_place = {};
  bool any() const { return push > 0 || pull > 0; }
};

struct LessonPlan {
  const Task* task = nullptr;
  UpdateLog log;
  Compressing compressing;
  Optimizer optimizer;
  PacketLosses losses;
  uint64_t seed = 1;
  int samples = 8;  // of a worker in an iteration
  int64_t iterations = 1000;
  int64_t evaluate = 20;  // every so many iterations
  bool measures_noise = false;
};

// Squared lengths of gradients, in the mean of the iterations since the point before: of single
// workers' batches, and of the mean of all workers', which has as many times the samples.
struct NoisePoint {
  int64_t iteration = 0;  // the last of them
  double of_workers = 0;
  double of_mean = 0;
};

struct CurvePoint {
  int64_t iteration = 0;
  double loss = 0;
  double accuracy = 0;
};

struct Lesson {
  std::vector<CurvePoint> curve;  // from iteration 0 on
  std::string ended;              // why before its time; empty: it did not
  std::vector<double> weights;    // at the end
  std::vector<NoisePoint>
      noise;  // if it is measured; one for each point of the curve but the first
};

// `watch` is called after every iteration of all workers and may throw to end everything.
Lesson learn(const LessonPlan& plan, const std::function<void()>& watch = {});

}  // namespace sgdsim::learning
