// Halving and doubling: reduce-scatter by exchanging halves with the far member first, then
// all-gather with the near one first.
//
// It costs what BE costs where all links are alike, but sends its largest message (n/2) over the
// largest distance, P/2; BE sends it to the neighbour. On a cluster with nodes that is the
// difference. Counts that are no power of two fold first, which all-reduce alone can do.
#include "models/collective/registry.h"
#include "sim/core/error.h"

namespace sgdsim::collective::halving_doubling {
namespace {

bool is_power_of_two(int n) { return (n & (n - 1)) == 0; }

Phase halve(const CollectiveJob& job) {
  Phase phase = job.phase(Talk::exchange, Load::half, log2_down(job.size()));
  phase.far_first = true;
  phase.folds = true;
  return phase;
}

Phase doubling(const CollectiveJob& job) {
  return job.phase(Talk::exchange, Load::window, log2_down(job.size()));
}

void check_size(const CollectiveJob& job) {
  if (job.operation != Operation::allreduce && !is_power_of_two(job.size()))
    throw InputError("", "halving_doubling " + std::string(name_of(job.operation)) +
                             " needs a power of two of ranks, got " + std::to_string(job.size()));
}

Program schedule(const CollectiveJob& job) {
  check_size(job);
  if (job.operation == Operation::reduce_scatter) return Program().then(halve(job));
  if (job.operation == Operation::allgather) return Program().then(doubling(job));
  Phase fold = job.phase(Talk::fold, Load::whole, 1);
  fold.folds = true;
  return Program()
      .then(fold)
      .then(halve(job))
      .then(doubling(job))
      .then(job.phase(Talk::unfold, Load::whole, 1));
}

// 2 lg P alpha + 2 (P-1)/P n beta + (P-1)/P n gamma; as BE, member 0 has the largest windows.
std::optional<Duration> closed_form(const CollectiveJob& job) {
  check_size(job);
  const int parts = 1 << log2_down(job.size());
  const bool folds = !is_power_of_two(job.size());
  if (folds && job.wire()) return std::nullopt;
  Duration scatter;
  Duration gather;
  for (int held = 1; held < parts; held *= 2) {
    const double size_B = job.first_chunks(held, parts);
    scatter += job.exchange(size_B) + job.fold(size_B);
    gather += job.exchange(size_B);
  }
  if (job.operation == Operation::reduce_scatter) return scatter;
  if (job.operation == Operation::allgather) return gather;
  const double n = job.bytes();
  if (folds) scatter += job.message(n) + job.fold(n) + job.message(n);
  return scatter + gather;
}

}  // namespace

Algorithm describe() {
  return {.name = "halving_doubling",
          .summary = "recursive halving, then doubling; largest message over the largest distance",
          .operations = {Operation::allreduce, Operation::reduce_scatter, Operation::allgather},
          .options = {},
          .schedule = schedule,
          .closed_form = closed_form,
          .waits_each_round = true,
          .rounds = Algorithm::Rounds::far_halves};
}

}  // namespace sgdsim::collective::halving_doubling
