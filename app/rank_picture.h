// What every rank of a schedule or of a collective did when: as a Chrome trace, and as text.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "app/terminal.h"
#include "sim/core/units.h"
#include "sim/work/rank_schedule.h"

namespace sgdsim {

struct RankSlice {
  uint32_t rank = 0;
  RankVerb verb = RankVerb::compute;
  uint32_t peer = RankOperation::any;
  int64_t bytes = 0;
  int64_t number = -1;  // by which people find it again; -1: none
  Time began;
  Time ended;
};

struct RankSlices {
  std::string command;  // which of sgdsim's played them
  std::string name;
  std::string computing;    // what computing is called
  std::string number_name;  // and what `number` counts
  uint32_t ranks = 0;
  Time end;  // of the last rank
  std::vector<RankSlice> slices;
};

// One process per rank; threads for computing, sends and receives. What takes no time is left out.
std::string rank_timeline(RankSlices all);
// The first ranks, at most `most_ranks_pictured`.
std::string rank_gantt(const RankSlices& all, const Terminal& terminal);
inline constexpr uint32_t most_ranks_pictured = 64;

}  // namespace sgdsim
