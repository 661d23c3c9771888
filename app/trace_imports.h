// `sgdsim import FORMAT FILE` for every trace format of traces/registry.h.
#pragma once

#include "app/commands.h"

namespace sgdsim {

void add_trace_imports(CLI::App& import, Streams streams);

}  // namespace sgdsim
