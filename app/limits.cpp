// From text to limits.
#include "app/limits.h"

#include <CLI/CLI.hpp>
#include <limits>

#include "app/collective/ranges.h"
#include "sim/core/quantity.h"

namespace sgdsim {

void add_limit_options(CLI::App& command, LimitArguments& arguments) {
  command.add_option("--max-events", arguments.events,
                     "stop after this many events, with exit code 4");
  command.add_option("--max-sim-time", arguments.sim_time,
                     "stop at this simulated time, with exit code 4");
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
