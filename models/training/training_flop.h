// FLOP of training one sequence as a layout trains it: with modules that predict further tokens,
// with documents that do not see each other, and with frozen weights, of which no gradients are
// made. Nothing computed again counts; it is what MFU is made of.
#pragma once

#include "models/training/layer_times.h"

namespace sgdsim {

// Where a layout says none of these, sequence_flop() of the model.
double training_flop(const TrainingStep& step, FlopConvention convention);

}  // namespace sgdsim
