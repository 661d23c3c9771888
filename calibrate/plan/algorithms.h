// The algorithms behind the table of collectives.cpp.
#pragma once

#include "calibrate/element.h"
#include "calibrate/plan/collectives.h"

namespace sgdsim::calibrate {

Plan plan_ring(const Collective& collective);
Plan plan_mst(const Collective& collective);
Plan plan_be(const Collective& collective);
Plan plan_lp(const Collective& collective);
Plan plan_direct(const Collective& collective);
// By the machine's own library.
Plan plan_nccl(const Collective& collective);
// Of `data_B` bytes, `count` pairs travel.
Plan plan_gtopk(int ranks, Type type, int64_t data_B, int64_t count);

}  // namespace sgdsim::calibrate
