// P3 (Jayarajan et al., SysML 2019): slices of 40,000 parameters, the layers near the input first,
// no credit: an urgent slice waits for one slice at most.
#include "models/strategy/partition.h"
#include "models/strategy/registry.h"

namespace sgdsim::strategy::p3 {
namespace {

struct Options {
  Bytes slice{160'000};
};

Fields fields_of(Options& o) {
  return {Field("slice", o.slice, "most bytes of a slice").also(check_positive)};
}

Strategy read(Object& fields) {
  const auto options = read_record<Options>(fields);
  return {.name = "",
          .plan = [slice = options.slice](
                      const PlanInput& input) { return plan_partitions(input, slice, Bytes(0)); },
          .takes_turns = true};
}

}  // namespace

StrategyKind describe() {
  return {"p3", "slices of `slice` (160 kB) by priority, next forward layer by layer",
          options_of<Options>, read};
}

}  // namespace sgdsim::strategy::p3
