// A profile and an execution trace of the same run: the same record functions have the same ids.
#pragma once

#include <vector>

#include "traces/kineto/events.h"
#include "traces/kineto/execution_trace.h"
#include "traces/kineto/open_step.h"

namespace sgdsim::profiler {

// Fills in the sizes of gradients and what is not said of collectives. InputError if the two are
// not of the same run: no id is in both, or one stands for different operators or sizes.
void link_with(const ExecutionTrace& trace, ProfileRecords& records);

// An execution trace often holds one step of a profile's. Steps with the same gradients and the
// same collectives, launched in the same order, get what that step says. How many.
int64_t fill_in_alike(std::vector<OpenStep>& steps);
// Collectives of unknown kind or size.
std::size_t unknown_messages(const std::vector<OpenStep>& steps);

}  // namespace sgdsim::profiler
