// What every rank of a schedule or of a collective did when, as text.
#pragma once

#include <string>

#include "app/terminal.h"
#include "study/rank_slices.h"

namespace sgdsim {

// The first ranks, at most `most_ranks_pictured`.
std::string rank_gantt(const RankSlices& all, const Terminal& terminal);
inline constexpr uint32_t most_ranks_pictured = 64;

}  // namespace sgdsim
