// Direct: every member talks to every other one itself, in P - 1 rounds of shifts by 1, 2, 3, ...
//
// All-to-all is this by nature. Reduce-scatter sends every member its chunk; all-gather sends the
// own chunk to everybody; all-reduce is both, a parameter server sharded over all members. The
// rotation keeps ports apart: in a round each member receives from one other only. Or (`at_once`)
// everybody sends to all others at the same time, and the messages share the ports. An all-to-all
// on shared wires or ports does so unless told otherwise, as NCCL does, which posts all its sends
// and receives as one group: in rounds, workers whose messages meet on a wire fall behind, and
// their rounds mix with those of others, so that even a fabric that blocks nothing takes up to
// twice as long as its ports.
#include <algorithm>

#include "models/collective/registry.h"

namespace sgdsim::collective::direct {
namespace {

bool is_at_once(const CollectiveJob& job) {
  const std::optional<bool> given = job.options.own.given(sends_at_once);
  const bool shares = job.on_wires || job.options.shares_ports;
  return given.value_or(shares && job.operation == Operation::alltoall);
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

bool fits_buffer(const CollectiveJob& job, int member) {
  const double chunk_B = ChunkRange{member, 1, job.size()}.bytes(job.bytes(), job.share.fractional);
  return is_at_once(job) && chunk_B <= static_cast<double>(job.options.send_buffer.count());
}

// One phase of the largest chunk's owner: member 0.
Duration phase_time(const CollectiveJob& job, double chunk_B, Duration fold) {
  const bool start_up_once = is_at_once(job) && job.wire();
  const Duration turn = start_up_once ? job.exchanged(chunk_B) : job.exchange(chunk_B);
  const Duration first = turn + fold + (start_up_once ? job.latency(chunk_B) : Duration());
  return first + (fits_buffer(job, 0) ? std::max(turn, fold) : turn + fold) * (job.size() - 2);
}

// (P-1)(alpha + n/P beta) per phase (at once, with alpha in flight: one alpha), plus (P-1)/P n
// gamma where it folds; messages that a buffer holds come one by one, and are folded meanwhile.
// With whole bytes, rounds, and alpha in flight, members with smaller chunks gain a byte's time
// here and there, so the form holds for equal chunks only; and so it does where only some fit the
// buffer.
std::optional<Duration> closed_form(const CollectiveJob& job) {
  const int size = job.size();
  if (job.wire() && !is_at_once(job) && !job.share.even(size)) return std::nullopt;
  if (fits_buffer(job, 0) != fits_buffer(job, size - 1)) return std::nullopt;
  const double chunk_B = job.first_chunks(1, size);
  const Duration spread = phase_time(job, chunk_B, Duration());
  const Duration folded = phase_time(job, chunk_B, job.fold(chunk_B));
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
