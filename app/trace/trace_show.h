// `sgdsim trace show`: what a trace says, for people and for scripts.
#pragma once

#include "app/commands.h"
#include "sim/core/json.h"

namespace sgdsim {

Json schema_of_shown_traces();  // sgdsim/trace-show/1
void add_trace_show(CLI::App& parent, Streams streams);

}  // namespace sgdsim
