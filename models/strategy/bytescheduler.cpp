// ByteScheduler (Peng et al., SOSP 2019): tensors are cut into partitions; the most urgent
// partition that is ready goes first, layers near the input being most urgent, because the next
// forward needs them first. The forward of a layer waits for that layer's partitions only.
//
// `partition` is 1,000,000 parameters (4 MB) and `credit` 4,000,000 parameters: a partition is
// committed to the network while the credit is above 0, takes its size off it until it has arrived,
// and cannot be overtaken any more.
#include "models/strategy/partition.h"
#include "models/strategy/registry.h"

namespace sgdsim::strategy::bytescheduler {
namespace {

Strategy read(Object& fields) {
  Bytes partition(4'000'000);
  Bytes credit(16'000'000);
  if (const auto field = fields.find("partition")) partition = positive_bytes(*field);
  if (const auto field = fields.find("credit")) credit = field->bytes();
  return {.name = "", .plan = [partition, credit](const PlanInput& input) {
            return plan_partitions(input, partition, credit);
          }};
}

}  // namespace

StrategyKind describe() {
  return {"bytescheduler", "partitions of `partition` (4 MB) by priority, `credit` (16 MB) ahead",
          read};
}

}  // namespace sgdsim::strategy::bytescheduler
