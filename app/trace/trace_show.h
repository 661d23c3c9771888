// `sgdsim trace show`: what a trace says, for people and for scripts.
#pragma once

#include "app/commands.h"

namespace sgdsim {

void add_trace_show(CLI::App& parent, Streams streams);

}  // namespace sgdsim
