// `sgdsim export FORMAT` for the formats that hold a trace.
#pragma once

#include "app/commands.h"

namespace sgdsim {

void add_trace_exports(CLI::App& command, Streams streams);

}  // namespace sgdsim
