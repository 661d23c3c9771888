// A training step of a layout, played pass by pass: every rank of the pipeline has its own layers,
// what stages send each other travels beside the passes, and GPUs may be slow.
//
// What lies inside of a pass is a formula as in the closed form (hybrid_step.h), and so is each
// piece of an exchange between replicas. GPUs that exchange inside of layers go in step: the
// slowest of them decides. Replicas that are alike are played once.
#pragma once

#include "models/training/hybrid_step.h"
#include "models/training/pipeline_play.h"
#include "models/worker/worker.h"

namespace sgdsim {

struct LayoutPlay {
  WorkerModel workers;  // of GPUs, numbered tp-cp-dp-pp; "per layer" is per pass
  uint64_t seed = 1;
  int iterations = 1;  // more than 1 only where GPUs are random
  Stopper* stopper = nullptr;
};

struct PlayedStep {
  HybridStep step;  // the mean; parts are those of the rank that ends last
  Duration fastest;
  Duration slowest;
  PipelinePlayed pipeline;        // of the last iteration
  std::vector<PassSlice> slices;  // likewise, if wanted
  int64_t replicas = 1;           // that were played
};

// What a layout needs of its GPUs' model; InputError names `where`.
void check_workers(const WorkerModel& workers, const Layout& layout, const std::string& where);

PipelineWork pipeline_work(const TrainingStep& step, GroupTimes& groups);
PlayedStep play_step(const TrainingStep& step, GroupTimes& groups, const LayoutPlay& options = {},
                     bool wants_slices = false);

}  // namespace sgdsim
