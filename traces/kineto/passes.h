// Several backward passes in one training step: gradients are accumulated over micro-batches.
#pragma once

#include <cstdint>
#include <vector>

#include "traces/kineto/open_step.h"

namespace sgdsim::profiler {

// Where all backward passes but the first begin: behind the last of what the forward pass launched
// between two gradients. Both are sorted.
std::vector<int64_t> later_passes(const std::vector<int64_t>& gradients_ns,
                                  const std::vector<int64_t>& forward_ns);

// Keeps the operators of the last pass only, whose gradients are the sums: what comes before it is
// as a long forward pass. But a step whose earlier passes exchange gradients, too, or whose passes
// have other gradients (two models) stays as it is. How many passes it has then.
std::size_t keep_last_pass(OpenStep& step);

// How often the same all-reduces of gradients follow each other in the same order; 1 if they do
// not, or if all are alike: of those nobody knows how many belong together. Behind the last time
// there may be a part of another one.
std::size_t repeats_of_exchanges(const OpenStep& step);

}  // namespace sgdsim::profiler
