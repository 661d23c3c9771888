// Clocks of workers that disagree: the end of an exchange is nearly the same moment for all who
// take part, so that the median difference of recorded ends is that of their clocks.
#pragma once

#include <optional>

#include "models/diagnose/step_work.h"

namespace sgdsim::diagnose {

// By how much each worker's clock is ahead of the first one's, in nanoseconds; workers that nothing
// connects with the first one get 0.
std::vector<int64_t> clock_offsets(const StepWork& work);

enum class ClockRule : uint8_t {
  by_record,  // aligned where the record shows that they disagree
  recorded,
  aligned
};

// What is known of the clocks of a record before it is looked at.
enum class Clocks : uint8_t {
  apart,          // each worker's own
  said_to_agree,  // so that only exchanges that end before they begin speak against it
  one             // of a simulation: never aligned, if not asked for
};

struct ClockedWork {
  StepWork work;
  std::optional<int64_t> aligned_ns;  // the largest correction; nothing: clocks were left
};

// The work of a record, after its clocks were aligned if need be.
ClockedWork clocked_work(StepRecord record, ClockRule rule, Clocks clocks);

}  // namespace sgdsim::diagnose
