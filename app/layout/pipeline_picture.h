// What ranks of a pipeline did when: as a Chrome trace, and as text.
#pragma once

#include <string>

#include "app/terminal.h"
#include "models/training/played_step.h"

namespace sgdsim {

const char* pass_name(Pass pass);

// One process per rank and replica; threads for passes, sends and exchanges with replicas.
std::string pipeline_timeline(const Layout& layout, const std::vector<PassSlice>& recorded);
// The first replica's ranks, at most `most_ranks_shown`.
std::string pipeline_gantt(const std::vector<PassSlice>& slices, const Terminal& terminal);
inline constexpr int64_t most_ranks_shown = 64;

}  // namespace sgdsim
