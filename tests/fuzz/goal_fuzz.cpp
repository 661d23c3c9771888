// Whatever bytes come, the reader of GOAL schedules answers with a schedule or an InputError, and a
// small schedule that was read is played to its end, until it is stuck, or until a limit.
#include <cstddef>
#include <cstdint>
#include <string>

#include "sim/core/error.h"
#include "sim/play/replay.h"
#include "traces/goal.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  using namespace sgdsim;
  try {
    const RankSchedule schedule =
        parse_goal(std::string(reinterpret_cast<const char*>(bytes), size), "fuzz.goal");
    if (!schedule.find_circle().empty() || schedule.ranks() > 1000) return 0;
    Replay replay;
    replay.schedule = &schedule;
    replay.costs = {.overhead = Duration::ns(3),
                    .overhead_per_byte = PerByte::ps(7),
                    .gap = Duration::ns(2),
                    .flight = Duration::ns(50),
                    .per_byte = PerByte::ps(900),
                    .eager_B = 1000};
    replay.limits.events = 100'000;
    play(replay);
  } catch (const InputError&) {
    return 0;
  }
  return 0;
}
