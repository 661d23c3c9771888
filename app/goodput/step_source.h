// Where the time of a step comes from: a number, or an experiment that is simulated.
#pragma once

#include "sim/core/json.h"

namespace sgdsim {

// The field `step`, in seconds.
double step_of(Object& fields);

}  // namespace sgdsim
