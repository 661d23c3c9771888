// Many points of one experiment at once: winners' maps and scaling curves.
#pragma once

#include "app/page/page_input.h"

namespace sgdsim {

// `axes` is {"cluster.nodes": [2, 4], "strategy": ["wfbp", "p3"]}, as in a sweep's file; the last
// axis is the one to choose from. The answer has a list per point, in the order of `sgdsim sweep`
// (`iteration_ps` and `speedup`, null where a point cannot be simulated), and one per group of
// points that differ in the last axis only (`winners`: the index of the best point and of those
// that tie with it, and by how many percent the next one is slower).
Json grid_of(const PageInput& input, const Value& axes);

}  // namespace sgdsim
