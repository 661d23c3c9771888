// Linear: the root sends to, or receives from, all others one after another.
//
// What a single parameter server does, and what MPI calls "basic linear". The root's port is the
// bottleneck. Messages that arrive while the root folds lie in private buffers.
#include <algorithm>

#include "models/collective/registry.h"

namespace sgdsim::collective::linear {
namespace {

Phase out(const CollectiveJob& job) {
  return job.phase(Talk::star_out, Load::whole, job.size() - 1);
}

Phase in(const CollectiveJob& job) {
  Phase phase = job.phase(Talk::star_in, Load::whole, job.size() - 1);
  phase.folds = true;
  phase.handshake = Handshake::eager;
  return phase;
}

Program schedule(const CollectiveJob& job) {
  switch (job.operation) {
    case Operation::broadcast:
      return Program().then(out(job));
    case Operation::reduce:
      return Program().then(in(job));
    default:
      return Program().then(in(job)).then(out(job));
  }
}

// Broadcast (P-1)(alpha + n beta); reduce the same and a last n gamma, or, if folding is slower
// than receiving, one message and P - 1 folds. With alpha in flight, only one alpha is seen.
std::optional<Duration> closed_form(const CollectiveJob& job) {
  const double n = job.bytes();
  const int others = job.size() - 1;
  const Duration busy = job.wire() ? job.transfer(n) : job.message(n);
  const Duration flight = job.wire() ? job.latency(n) : Duration();
  const Duration out_time = flight + busy * others;
  const Duration in_time = flight + busy + job.fold(n) + std::max(busy, job.fold(n)) * (others - 1);
  switch (job.operation) {
    case Operation::broadcast:
      return out_time;
    case Operation::reduce:
      return in_time;
    default:
      return in_time + out_time;
  }
}

}  // namespace

Algorithm describe() {
  return {.name = "linear",
          .summary = "through the root, one member after another; a parameter server",
          .operations = {Operation::broadcast, Operation::reduce, Operation::allreduce},
          .options = {},
          .schedule = schedule,
          .closed_form = closed_form};
}

}  // namespace sgdsim::collective::linear
