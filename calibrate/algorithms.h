// The algorithms behind the table of collectives.cpp.
#pragma once

#include "calibrate/collectives.h"

namespace sgdsim::calibrate {

Plan plan_ring(const Collective& collective);
Plan plan_mst(const Collective& collective);
Plan plan_be(const Collective& collective);
Plan plan_lp(const Collective& collective);

}  // namespace sgdsim::calibrate
