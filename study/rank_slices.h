// What every rank of a schedule or of a collective did when, as a Chrome trace.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "sim/core/units.h"
#include "sim/work/rank_schedule.h"
#include "study/trace_events.h"

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

// What each verb's things are called together.
inline constexpr std::array<const char*, 4> verb_lanes = {"computing", "sends", "receives",
                                                          "collectives"};

// One process per rank, whose numbers begin with `first` and whose names with `prefix`; threads for
// computing, sends, receives and collectives. What takes no time is left out.
void add_slices(TraceEvents& events, RankSlices all, const std::string& prefix = "", int first = 0);
std::string rank_timeline(RankSlices all);

}  // namespace sgdsim
