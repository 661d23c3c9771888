// What stands elsewhere than in a script that is given: words that only running it would tell, and
// other files.
#pragma once

#include "study/layout/foreign_layout.h"

namespace sgdsim {

// Refused where it may have the layout, and noted otherwise.
void check_unread(const FlatSettings& settings, ForeignLayout& found);

}  // namespace sgdsim
