// A strategy that plans anew before every iteration, from when gradients are ready on all workers:
// it is told when each worker begins, and can plan once all have.
#pragma once

#include <vector>

#include "models/step/compute.h"
#include "models/step/step.h"

namespace sgdsim {

class Replanner {
 public:
  // `wakes`: when its thread does so first (Horovod's).
  Replanner(const StepQuestion& question, Time wakes) : question_(question), wakes_(wakes) {}

  void begins(const WorkerWork& work, Time start);
  int begun() const { return begun_; }  // workers
  Time wakes() const { return wakes_; }
  // After that, workers begin the next iteration.
  GradientPlan plan(const MessageCost& cost);

 private:
  const StepQuestion& question_;
  Time wakes_;
  int begun_ = 0;
  Time first_told_;  // when the first worker began of which it was told
  Time origin_;
  std::vector<Duration> ready_;  // of each layer, on the last worker, from then on
};

}  // namespace sgdsim
