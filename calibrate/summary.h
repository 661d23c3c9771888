// What was measured, a line for each series: its largest message.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "calibrate/measure.h"

namespace sgdsim::calibrate {

// Where a copy within a rank was measured, and one copy keeps a memory busy, the time of a
// collective is set against that of its memory traffic: the bytes that its copies and sums read and
// write, at the rate of the largest such copy, spread over the memories that the ranks have.
// memories(ranks): see Backend.
std::vector<std::string> summary_of(const std::vector<Task>& tasks, const Outcome& outcome,
                                    const std::function<int(int ranks)>& memories);

}  // namespace sgdsim::calibrate
