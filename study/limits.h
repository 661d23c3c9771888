// `--max-events`, `--max-sim-time`: where a simulation ends at the latest.
#pragma once

#include <string>

#include "sim/core/stopper.h"
#include "study/question_fields.h"

namespace sgdsim {

struct LimitArguments {
  std::string events;
  std::string sim_time;
  // The name of one that is given.
  const char* given() const { return events.empty() ? "--max-sim-time" : "--max-events"; }
  bool any() const { return !events.empty() || !sim_time.empty(); }
};

Fields limit_fields(LimitArguments& arguments);
SimulationLimits limits_of(const LimitArguments& arguments);

}  // namespace sgdsim
