// BE: bidirectional exchange, the order in which MPICH plays large messages.
//
// All-reduce (Rabenseifner): extra members fold into their neighbours so that a power of two p' is
// left; reduce-scatter by exchanging with masks 1, 2, ..., p'/2, half of the window each time, so
// the first exchange, between neighbours, is the largest; all-gather with the masks reversed;
// unfold. Reduce: the fold goes the other way, and a binomial gather ends it. Broadcast: binomial
// scatter, then an all-gather around a ring (any P) or by recursive doubling (powers of two).
#include "models/collective/registry.h"
#include "sim/core/error.h"

namespace sgdsim::collective::be {
namespace {

constexpr FlagOption doubling{
    {"be_allgather", "ring|recursive-doubling", "the second half of a broadcast", "broadcast"}};
constexpr FlagOption no_barrier{{"be_barrier", "on|off",
                                 "the all-gather waits for the whole scatter, or for neighbours",
                                 "broadcast"}};

Phase halve(const CollectiveJob& job) {
  Phase phase = job.phase(Talk::exchange, Load::half, log2_down(job.size()));
  phase.folds = true;
  return phase;
}

Phase doubled_back(const CollectiveJob& job, Talk talk) {
  Phase phase = job.phase(talk, Load::window, log2_down(job.size()));
  phase.far_first = true;
  return phase;
}

Phase fold(const CollectiveJob& job, bool odd_stays) {
  Phase phase = job.phase(Talk::fold, Load::whole, 1);
  phase.folds = true;
  phase.odd_stays = odd_stays;
  return phase;
}

Program allreduce(const CollectiveJob& job) {
  return Program()
      .then(fold(job, true))
      .then(halve(job))
      .then(doubled_back(job, Talk::exchange))
      .then(job.phase(Talk::unfold, Load::whole, 1));
}

Program reduce(const CollectiveJob& job) {
  Program program;
  program.then(fold(job, false)).then(halve(job)).then(doubled_back(job, Talk::gather));
  for (Stage& stage : program.stages) std::get<Phase>(stage).odd_stays = false;
  return program;
}

Program broadcast(const CollectiveJob& job) {
  Phase scatter = job.phase(Talk::tree_down, Load::subtree, log2_up(job.size()));
  scatter.padded_chunks = true;  // MPICH scatters slots of ceil(n/P) bytes
  Program program;
  program.then(scatter);
  if (!job.options.of(no_barrier)) program.then(Barrier{job.team});
  if (job.options.of(doubling))
    return program.then(job.phase(Talk::exchange, Load::window, log2_down(job.size())));
  Phase ring = job.phase(Talk::shift, Load::chunk, job.size() - 1);
  ring.chunk_slope = -1;
  return program.then(ring);
}

Program schedule(const CollectiveJob& job) {
  switch (job.operation) {
    case Operation::broadcast:
      return broadcast(job);
    case Operation::reduce:
      return reduce(job);
    default:
      return allreduce(job);
  }
}

// Core worker 0 always keeps the first chunks, the largest ones, so its exchanges take longest:
// in round j it receives the first p'/2^(j+1) of p' chunks. Rounding is per message.
Duration halving_time(const CollectiveJob& job, bool folds) {
  const int parts = 1 << log2_down(job.size());
  Duration sum;
  for (int kept = parts / 2; kept >= 1; kept /= 2) {
    const double size_B = job.first_chunks(kept, parts);
    sum += job.exchange(size_B);
    if (folds) sum += job.fold(size_B);
  }
  return sum;
}

Duration gather_time(const CollectiveJob& job) {
  const int parts = 1 << log2_down(job.size());
  Duration sum;
  for (int held = 1; held < parts; held *= 2)
    sum += job.message(job.first_chunks(2 * held, parts) - job.first_chunks(held, parts));
  return sum;
}

bool is_power_of_two(int n) { return (n & (n - 1)) == 0; }

// (ceil(lg P) + P - 1) alpha + 2 ((P-1)/P) n beta with the ring, 2 lg P alpha + the same with
// recursive doubling. The root's sends are the longest way through the scatter.
std::optional<Duration> broadcast_time(const CollectiveJob& job) {
  if (job.options.of(no_barrier)) return std::nullopt;  // at most the closed form
  const int size = job.size();
  const double chunk_B = job.first_chunks(1, size);
  if (job.wire() && !is_power_of_two(size)) return std::nullopt;  // the root's sends overlap
  Duration sum;
  for (int mask = 1 << (log2_up(size) - 1); mask >= 1; mask /= 2)
    sum += job.message(chunk_B * std::min(mask, size - mask));
  if (!job.options.of(doubling)) return sum + job.exchange(chunk_B) * (size - 1);
  for (int held = 1; held < size; held *= 2) sum += job.exchange(job.first_chunks(held, size));
  return sum;
}

std::optional<Duration> closed_form(const CollectiveJob& job) {
  if (job.operation == Operation::broadcast) return broadcast_time(job);
  const double n = job.bytes();
  const bool folds = !is_power_of_two(job.size());
  // With alpha in flight, members that were not folded into have a head start of some alphas.
  if (folds && job.wire()) return std::nullopt;
  const Duration fold_time = folds ? job.message(n) + job.fold(n) : Duration();
  switch (job.operation) {
    case Operation::reduce:
      // The gather takes the upper halves, the smaller ones: with alpha in flight they leave early.
      if (job.wire() && !job.share.even(job.size())) return std::nullopt;
      return fold_time + halving_time(job, true) + gather_time(job);
    default: {
      const Duration unfold_time = folds ? job.message(n) : Duration();
      return fold_time + halving_time(job, true) + halving_time(job, false) + unfold_time;
    }
  }
}

void check(const CollectiveJob& job) {
  if (job.options.of(doubling) && job.operation == Operation::broadcast &&
      !is_power_of_two(job.size()))
    throw InputError("", "be_allgather=recursive-doubling needs a power of two of ranks, got " +
                             std::to_string(job.size()));
}

}  // namespace

Algorithm describe() {
  return {.name = "be",
          .summary = "bidirectional exchange in MPICH's order (Rabenseifner; scatter + all-gather)",
          .operations = {Operation::broadcast, Operation::reduce, Operation::allreduce},
          .options = {doubling, no_barrier},
          .schedule = schedule,
          .closed_form = closed_form,
          .check = check,
          .rounds = Algorithm::Rounds::near_halves};
}

}  // namespace sgdsim::collective::be
