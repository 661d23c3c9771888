// What the commands that play many points have in common on their command lines.
#pragma once

#include <string>

#include "study/sweep/sweep_file.h"

namespace sgdsim {

// "-j 8"; all cores if nothing is given.
int threads_of(const std::string& text);
// "--shard 2/7".
Shard parse_shard(const std::string& text);

}  // namespace sgdsim
