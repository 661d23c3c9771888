// What must hold of every trace, wherever it was read from, and what is filled in if it is missing.
//
// Readers hand over the layers as their format has them; complete() supplies the forward times that
// few formats know, and refuses what no simulation could use. It is the only place that does so.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "sim/work/trace.h"

namespace sgdsim {

// No training step is longer; sums of picoseconds below it are exact in floating point.
inline constexpr Duration longest_step = Duration::s(3600);
inline constexpr std::size_t most_layers = 1'000'000;
inline constexpr int64_t most_parameters = 1'000'000'000'000;  // of one layer
inline constexpr int64_t usual_bytes_per_parameter = 4;  // a format that says nothing: float32

// How errors name the file and one of its layers.
struct Origin {
  std::string file;
  std::function<std::string(std::size_t)> layer;
};

enum class Forward {
  per_layer,  // as the layers say
  total,      // divided among the layers in proportion to backward
  missing,    // half of backward (Shi et al., INFOCOM 2019), with a note
};

// Checks a trace and fills in its forward times; `total` is used for Forward::total only.
void complete(Trace& trace, Forward forward, Duration total, const Origin& origin);

}  // namespace sgdsim
