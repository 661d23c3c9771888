// What every GPU did when, on shared wires: as a Chrome trace, and as text.
#pragma once

#include <string>

#include "app/terminal.h"
#include "models/training/step_on_wires.h"

namespace sgdsim {

// One process per GPU; threads for what it computes and what it exchanges with whom.
std::string gpu_timeline(const Layout& layout, const std::vector<GpuSlice>& slices);
// The first GPUs, at most `most_gpus_shown`.
std::string gpu_gantt(const Layout& layout, const std::vector<GpuSlice>& slices,
                      const Terminal& terminal);
inline constexpr int64_t most_gpus_shown = 64;

}  // namespace sgdsim
