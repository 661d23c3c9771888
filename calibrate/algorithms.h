// The algorithms behind the table of collectives.cpp.
#pragma once

#include "calibrate/collectives.h"

namespace sgdsim::calibrate {

Plan plan_ring(const Collective& collective);
Plan plan_mst(const Collective& collective);
Plan plan_be(const Collective& collective);
Plan plan_lp(const Collective& collective);
// Of `data_B` bytes of float32, `count` pairs travel.
Plan plan_gtopk(int ranks, int64_t data_B, int64_t count);

}  // namespace sgdsim::calibrate
