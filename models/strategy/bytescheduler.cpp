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

struct Options {
  Bytes partition{4'000'000};
  Bytes credit{16'000'000};
};

Fields fields_of(Options& o) {
  return {Field("partition", o.partition, "most bytes of a partition").also(check_positive),
          {"credit", o.credit, "bytes that may be committed to the network ahead"}};
}

Strategy read(Object& fields) {
  const auto options = read_record<Options>(fields);
  return {.name = "",
          .plan =
              [options](const PlanInput& input) {
                return plan_partitions(input, options.partition, options.credit);
              },
          .takes_turns = true};
}

}  // namespace

StrategyKind describe() {
  return {"bytescheduler", "partitions of `partition` (4 MB) by priority, `credit` (16 MB) ahead",
          options_of<Options>, read};
}

}  // namespace sgdsim::strategy::bytescheduler
