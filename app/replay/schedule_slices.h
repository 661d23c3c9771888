// What every rank of a replayed schedule did, for pictures.
#pragma once

#include <string>

#include "app/rank_picture.h"
#include "sim/play/replay.h"

namespace sgdsim {

// Of operations that have ended.
RankSlices slices_of(const std::string& name, const RankSchedule& schedule, const Replayed& played);

}  // namespace sgdsim
