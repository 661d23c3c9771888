// Ring: P chunks go round, each member sending to the next one.
//
// Reduce-scatter step k: member i sends chunk i - k to i + 1 and adds chunk i - 1 - k to its own.
// All-gather step k: it sends chunk i + 1 - k, and has everything after P - 1 steps. Any P.
#include "models/collective/registry.h"

namespace sgdsim::collective::ring {
namespace {

Phase around(const CollectiveJob& job, int first_chunk, bool folds) {
  Phase phase = job.phase(Talk::shift, Load::chunk, job.size() - 1);
  phase.chunk_offset = first_chunk;
  phase.chunk_slope = -1;
  phase.folds = folds;
  return phase;
}

Program schedule(const CollectiveJob& job) {
  switch (job.operation) {
    case Operation::reduce_scatter:  // one chunk further on, so that member i ends with chunk i
      return Program().then(around(job, -1, true));
    case Operation::allgather:
      return Program().then(around(job, 0, false));
    default:
      return Program().then(around(job, 0, true)).then(around(job, 1, false));
  }
}

// (P-1)(alpha + n/P beta), plus n/P gamma per step where it folds. With whole bytes n/P is the
// largest chunk: it travels through all steps without ever waiting.
std::optional<Duration> closed_form(const CollectiveJob& job) {
  const double chunk_B = job.first_chunks(1, job.size());
  const Duration gather = job.message(chunk_B) * (job.size() - 1);
  const Duration scatter = gather + job.fold(chunk_B) * (job.size() - 1);
  switch (job.operation) {
    case Operation::reduce_scatter:
      return scatter;
    case Operation::allgather:
      return gather;
    default:
      return scatter + gather;
  }
}

}  // namespace

Algorithm describe() {
  return {.name = "ring",
          .summary = "P chunks around a ring; the least bytes, 2(P-1) steps for all-reduce",
          .operations = {Operation::allreduce, Operation::reduce_scatter, Operation::allgather},
          .options = {},
          .schedule = schedule,
          .closed_form = closed_form};
}

}  // namespace sgdsim::collective::ring
