// Stale synchronous parallel: asynchronous, but a worker that has done `staleness` iterations more
// than the slowest one waits. 0 keeps all in step. In the long run everybody goes at the pace of
// the slowest, while short delays are absorbed.
#include <algorithm>

#include "models/synchronization/registry.h"

namespace sgdsim::synchronization::ssp {
namespace {

Synchronization read(Object& fields) {
  int bound = 3;
  if (const auto field = fields.find("staleness"))
    bound = static_cast<int>(field->whole(0, 1'000'000));
  return {.name = "",
          .rule = AsynchronousRule{bound},
          // Until the fast workers are `bound` ahead, with differences of 5 % and more.
          .transient = std::min(20 * (std::min(bound, longest_transient) + 1), longest_transient),
          .measured = 20};
}

}  // namespace

SynchronizationKind describe() {
  return {"ssp",
          "as async_ps, but nobody more than `staleness` (3) iterations ahead of the slowest",
          read};
}

}  // namespace sgdsim::synchronization::ssp
