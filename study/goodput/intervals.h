// How often to save: by formula, and what other intervals would give.
#pragma once

#include <optional>
#include <vector>

#include "study/goodput/goodput_question.h"

namespace sgdsim {

struct IntervalAdvice {
  int64_t best_steps = 1;
  double best_s = 0;
  double flat_from_s = 0;  // where the time is within 1 % of the best
  double flat_to_s = 0;
};
Fields fields_of(const IntervalAdvice& advice);

// When the training ends with so many steps between saves.
struct IntervalEnd {
  int64_t steps = 1;
  double interval_s = 0;  // the same as work
  double wall_s = 0;
};
Fields fields_of(const IntervalEnd& end);

// Nothing where nothing stops the job, and where it shrinks.
std::optional<IntervalAdvice> advise_interval(const goodput::Plan& plan);
// The plan with its own interval and with those around the best one, as far as runs with them end.
std::vector<goodput::Plan> plans_with_intervals(const goodput::Plan& plan);

}  // namespace sgdsim
