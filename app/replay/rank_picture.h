// What every rank of a schedule did when: as a Chrome trace, and as text.
#pragma once

#include <string>

#include "app/terminal.h"
#include "sim/play/replay.h"

namespace sgdsim {

// InputError where it has more operations than are shown.
void check_shown(const RankSchedule& schedule);
// One process per rank; threads for computing, sends and receives. `name`: of the schedule.
std::string rank_timeline(const std::string& name, const RankSchedule& schedule,
                          const Replayed& played);
// The first ranks, at most `most_schedule_ranks_shown`.
std::string rank_gantt(const RankSchedule& schedule, const Replayed& played,
                       const Terminal& terminal);
inline constexpr uint32_t most_schedule_ranks_shown = 64;

}  // namespace sgdsim
