// What every rank does in a collective, message by message, for pictures.
#pragma once

#include "app/rank_picture.h"
#include "study/collective/collective_point.h"

namespace sgdsim {

// `point`: the answer, whose algorithm is played. InputError, naming `option`, where it is a
// formula.
RankSlices steps_of(const CollectiveArguments& arguments, const CollectivePoint& point,
                    const char* option);

}  // namespace sgdsim
