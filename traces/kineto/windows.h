// Where steps begin and end in a profile that does not say so by ProfilerStep#N.
#pragma once

#include <string>

#include "traces/kineto/events.h"

namespace sgdsim::profiler {

struct WindowSearch {
  std::string told_by;    // "the ends of Optimizer.step"; empty: by ProfilerStep#N
  std::string problem;    // why there are none; empty: there are
  bool is_guess = false;  // the whole file is one, and not even a backward pass says so
};

// Fills in the windows of the records if there are none.
WindowSearch find_windows(ProfileRecords& records);

}  // namespace sgdsim::profiler
