// `sgdsim import kineto FILE...`: a trace, and a case that replays the recorded step.
#pragma once

#include "app/commands.h"

namespace sgdsim {

void add_kineto_import(CLI::App& import, Streams streams);

}  // namespace sgdsim
