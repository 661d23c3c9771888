// Direct: every member talks to every other one itself, in P - 1 rounds of shifts by 1, 2, 3, ...
//
// All-to-all is this by nature. Reduce-scatter sends every member its chunk; all-gather sends the
// own chunk to everybody; all-reduce is both, a parameter server sharded over all members. The
// rotation keeps ports apart: in a round each member receives from one other only. Or (`at_once`)
// everybody sends to all others at the same time, and the messages share the ports. An all-to-all
// on shared wires does so unless told otherwise, as NCCL does, which posts all its sends and
// receives as one group: in rounds, workers whose messages meet on a wire fall behind, and their
// rounds mix with those of others, so that even a fabric that blocks nothing takes up to twice as
// long as its ports.
#include "models/collective/registry.h"

namespace sgdsim::collective::direct {
namespace {

bool is_at_once(const CollectiveJob& job) {
  const std::optional<bool> given = job.options.own.given(sends_at_once);
  return given.value_or(job.on_wires && job.operation == Operation::alltoall);
}

Phase shifts(const CollectiveJob& job) {
  Phase phase = job.phase(Talk::shift, Load::chunk, job.size() - 1);
  phase.distance_step = 1;
  phase.at_once = is_at_once(job);
  return phase;
}

Phase to_owners(const CollectiveJob& job, bool folds) {
  Phase phase = shifts(job);
  phase.chunk_offset = 1;  // the chunk of the receiver
  phase.chunk_slope = 1;
  phase.folds = folds;
  return phase;
}

Program schedule(const CollectiveJob& job) {
  switch (job.operation) {
    case Operation::alltoall:
      return Program().then(to_owners(job, false));
    case Operation::reduce_scatter:
      return Program().then(to_owners(job, true));
    case Operation::allgather:
      return Program().then(shifts(job));
    default:
      return Program().then(to_owners(job, true)).then(shifts(job));
  }
}

// (P-1)(alpha + n/P beta) per phase (at once, with alpha in flight: one alpha), plus (P-1)/P n
// gamma where it folds. Member 0 owns the largest chunk. With whole bytes and alpha in flight,
// members with smaller chunks gain a byte's time here and there, so the form holds for equal chunks
// only.
std::optional<Duration> closed_form(const CollectiveJob& job) {
  const int size = job.size();
  if ((job.wire() || is_at_once(job)) && !job.share.even(size)) return std::nullopt;
  const double chunk_B = job.first_chunks(1, size);
  const bool start_up_once = is_at_once(job) && job.wire();
  const Duration spread = start_up_once ? job.latency(chunk_B) + job.transfer(chunk_B) * (size - 1)
                                        : job.message(chunk_B) * (size - 1);
  const Duration folded = spread + job.fold(chunk_B) * (size - 1);
  switch (job.operation) {
    case Operation::reduce_scatter:
      return folded;
    case Operation::allreduce:
      return folded + spread;
    default:
      return spread;
  }
}

}  // namespace

Algorithm describe() {
  return {.name = "direct",
          .summary = "every pair by itself, in P - 1 rotated rounds",
          .operations = {Operation::alltoall, Operation::reduce_scatter, Operation::allgather,
                         Operation::allreduce},
          .options = {sends_at_once},
          .schedule = schedule,
          .closed_form = closed_form};
}

}  // namespace sgdsim::collective::direct
