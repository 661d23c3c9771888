// When a training ends that has this layout, on a machine that fails.
#pragma once

#include <string>

#include "study/layout/layout_output.h"

namespace sgdsim {

// Whether layouts may end in another order than that of their steps: the question leaves something
// to them.
bool have_own_ends(const LayoutQuestion& question);
// With `question.training`.
TrainingEnd end_of(const LayoutQuestion& question, const FoundLayout& layout);
// Why the soonest end comes first, and of how many layouts; "" where it need not be said.
std::string order_of_ends(const LayoutQuestion& question, int64_t compared);

}  // namespace sgdsim
