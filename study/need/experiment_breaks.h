// What an experiment loses when links or a worker are at half of their rate or gone.
#pragma once

#include "study/need/breaks.h"
#include "study/step/experiment.h"

namespace sgdsim {

// One more slow worker, as a setting: the first of which the experiment says nothing.
std::string slow_worker_setting(const Json& experiment, double factor);

Breaks breaks_of(const ResolvedExperiment& resolved, Stopper& stopper);

}  // namespace sgdsim
