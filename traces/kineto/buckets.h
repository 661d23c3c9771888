// Which of a step's collectives are the exchange of its gradients.
#pragma once

#include "traces/kineto/open_step.h"

namespace sgdsim::profiler {

// Marks the all-reduces of gradients among the step's messages, whose times are still the file's.
void mark_buckets(const OpenStep& open, ProfiledStep& step);

}  // namespace sgdsim::profiler
