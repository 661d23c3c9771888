// An experiment, simulated with everything that its result says.
#pragma once

#include "study/step/experiment.h"

namespace sgdsim {

// With the reason of its length, and the timeline if one is given. An InputError names the
// experiment's file.
StepResult simulated(const Experiment& experiment, Timeline* timeline, Stopper* stopper);

// Records these workers ("0-3,7") and iterations (counted with warm-up; "": the first after it).
Timeline timeline_of(const Experiment& experiment, const std::string& workers,
                     const std::string& iterations);

}  // namespace sgdsim
