// `sgdsim import execution-trace`: what an execution trace of PyTorch holds, and its parameters.
#pragma once

#include <string_view>

#include "app/commands.h"

namespace sgdsim {

inline constexpr std::string_view execution_trace_format = "execution-trace";

void add_execution_trace_import(CLI::App& import, Streams streams);

}  // namespace sgdsim
