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

struct ClockedWork {
  StepWork work;
  std::optional<int64_t> aligned_ns;  // the largest correction; nothing: clocks were left
};

// The work of a record, after its clocks were aligned if need be. `clocks_agree`: the record says
// that they do, so that only many exchanges that end before they begin speak against it.
ClockedWork clocked_work(StepRecord record, ClockRule rule, bool clocks_agree);

}  // namespace sgdsim::diagnose
