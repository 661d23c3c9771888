// P3 (Jayarajan et al., SysML 2019): slices of 40,000 parameters, the layers near the input first,
// no credit: an urgent slice waits for one slice at most.
#include "models/strategy/partition.h"
#include "models/strategy/registry.h"

namespace sgdsim::strategy::p3 {
namespace {

Strategy read(Object& fields) {
  Bytes slice(160'000);
  if (const auto field = fields.find("slice")) slice = positive_bytes(*field);
  return {.name = "", .plan = [slice](const PlanInput& input) {
            return plan_partitions(input, slice, Bytes(0));
          }};
}

}  // namespace

StrategyKind describe() {
  return {"p3", "slices of `slice` (160 kB) by priority, next forward layer by layer", read};
}

}  // namespace sgdsim::strategy::p3
