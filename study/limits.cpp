// From text to limits.
#include "study/limits.h"

#include <limits>

#include "sim/core/quantity.h"
#include "study/collective/ranges.h"

namespace sgdsim {

Fields limit_fields(LimitArguments& arguments) {
  return {{"max_events", arguments.events, "stop after this many events, with exit code 4"},
          {"max_sim_time", arguments.sim_time, "stop at this simulated time, with exit code 4"}};
}

SimulationLimits limits_of(const LimitArguments& arguments) {
  SimulationLimits limits;
  if (!arguments.events.empty())
    limits.events = static_cast<uint64_t>(
        parse_whole(arguments.events, 1, std::numeric_limits<int64_t>::max(), "--max-events"));
  if (!arguments.sim_time.empty())
    limits.end = Time() + parse_duration(arguments.sim_time, "--max-sim-time");
  return limits;
}

}  // namespace sgdsim
