// `sgdsim model laws`: the loss that published laws expect of a large training, its batches, and
// what a penalty of loss costs.
#pragma once

#include "app/commands.h"
#include "sim/core/json.h"

namespace sgdsim {

Json schema_of_model_laws();  // sgdsim/model-laws/1
void add_model_laws(CLI::App& parent, Streams streams);

}  // namespace sgdsim
