// When the iterations of a lesson end: those that a method's experiment takes on its cluster.
#pragma once

#include <cstdint>

#include "sim/core/stopper.h"
#include "study/learn/learn_question.h"
#include "study/step/experiment.h"

namespace sgdsim {

// Where workers do not wait for each other: what they change and read of the servers' parts, in
// order, and the ends of so many iterations of all workers.
void play_in_order(const Experiment& experiment, LearnMethod& method, int64_t iterations,
                   Stopper* stopper);
// Where they do. Densities and numbers of workers have the iteration times of their own, and so
// have the first iterations of a pipeline that are synchronous, and the steps between averages.
void play_in_common(const ResolvedExperiment& resolved, LearnMethod& method, int64_t iterations,
                    Stopper* stopper);

}  // namespace sgdsim
