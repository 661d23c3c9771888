// Sets of moments, as spans that are sorted and apart from each other.
#pragma once

#include <vector>

#include "traces/kineto/events.h"

namespace sgdsim::profiler {

using Spans = std::vector<Span>;

Spans joined(Spans any);  // in any order, overlapping
Spans within(const Spans& all, Span window);
Spans minus(const Spans& all, const Spans& without);
int64_t length_of(const Spans& all);

}  // namespace sgdsim::profiler
