// Flags of a training that look like one that says a layout, and are none.
#pragma once

#include "study/layout/foreign_layout.h"

namespace sgdsim {

// Refused where it is the beginning of one, which Megatron-LM does not take, and noted where it is
// near to one or names a degree.
void check_flags(const FlatSettings& settings, ForeignLayout& found);

}  // namespace sgdsim
