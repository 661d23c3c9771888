// Stale synchronous parallel: asynchronous, but a worker that has done `staleness` iterations more
// than the slowest one waits. 0 keeps all in step. In the long run everybody goes at the pace of
// the slowest, while short delays are absorbed.
#include <algorithm>

#include "models/synchronization/registry.h"

namespace sgdsim::synchronization::ssp {
namespace {

struct Options {
  AsynchronousRule rule{.bound = 3};
};

Fields fields_of(Options& o) {
  return {Field("staleness", o.rule.bound,
                "iterations by which a worker may be ahead of the slowest one")
              .from(0, 1'000'000),
          divide_by_staleness_field(o.rule.divides_by_staleness)};
}

Synchronization read(Object& fields) {
  const AsynchronousRule rule = read_record<Options>(fields).rule;
  return {
      .name = "",
      .rule = rule,
      // Until the fast workers are `bound` ahead, with differences of 5 % and more.
      .transient = std::min(20 * (std::min(rule.bound, longest_transient) + 1), longest_transient),
      .measured = 20};
}

}  // namespace

SynchronizationKind describe() {
  return {"ssp",
          "as async_ps, but nobody more than `staleness` (3) iterations ahead of the slowest",
          options_of<Options>, read};
}

}  // namespace sgdsim::synchronization::ssp
