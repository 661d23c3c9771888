// Recursive doubling: partners at distance 1, 2, 4, ... exchange all that they have.
//
// All-reduce exchanges the whole message in each of lg P rounds; other counts fold their extra
// members first. All-gather doubles the window; where P is no power of two it goes in Bruck's order
// (every member receives from member + 2^k), which costs the same rounds, rounded up. All-to-all is
// Bruck's: round k moves every block whose distance has bit k set.
#include "models/collective/registry.h"

namespace sgdsim::collective::recursive_doubling {
namespace {

bool is_power_of_two(int n) { return (n & (n - 1)) == 0; }

Program allreduce(const CollectiveJob& job) {
  Phase fold = job.phase(Talk::fold, Load::whole, 1);
  fold.folds = true;
  Phase exchange = job.phase(Talk::exchange, Load::whole, log2_down(job.size()));
  exchange.folds = true;
  return Program().then(fold).then(exchange).then(job.phase(Talk::unfold, Load::whole, 1));
}

Program allgather(const CollectiveJob& job) {
  if (is_power_of_two(job.size()))
    return Program().then(job.phase(Talk::exchange, Load::window, log2_down(job.size())));
  Phase phase = job.phase(Talk::shift, Load::bruck_window, log2_up(job.size()));
  phase.distance = -1;
  phase.doubles = true;
  return Program().then(phase);
}

Program alltoall(const CollectiveJob& job) {
  Phase phase = job.phase(Talk::shift, Load::bruck_blocks, log2_up(job.size()));
  phase.doubles = true;
  phase.padded_chunks = true;  // all blocks of an all-to-all are alike
  return Program().then(phase);
}

Program schedule(const CollectiveJob& job) {
  switch (job.operation) {
    case Operation::allgather:
      return allgather(job);
    case Operation::alltoall:
      return alltoall(job);
    default:
      return allreduce(job);
  }
}

// lg P (alpha + n beta + n gamma); other counts pay ceil-free floor(lg P) rounds and a fold and an
// unfold of the whole message.
std::optional<Duration> allreduce_time(const CollectiveJob& job) {
  const double n = job.bytes();
  const Duration round = job.exchange(n) + job.fold(n);
  const Duration core = round * log2_down(job.size());
  if (is_power_of_two(job.size())) return core;
  if (job.wire()) return std::nullopt;  // members that were not folded into have a head start
  return core + job.message(n) + job.fold(n) + job.message(n);
}

// ceil(lg P) alpha + (P-1)/P n beta: member 0's window is the largest in every round.
std::optional<Duration> allgather_time(const CollectiveJob& job) {
  const int size = job.size();
  // Windows of different sizes that wrap around: a few bytes decide who waits for whom.
  if (!is_power_of_two(size) && !job.share.even(size)) return std::nullopt;
  Duration sum;
  for (int held = 1; held < size; held *= 2)
    sum += job.exchange(job.first_chunks(std::min(held, size - held), size));
  return sum;
}

std::optional<Duration> closed_form(const CollectiveJob& job) {
  if (job.operation == Operation::allgather) return allgather_time(job);
  if (job.operation == Operation::allreduce) return allreduce_time(job);
  const Program program = alltoall(job);
  const auto& phase = std::get<Phase>(program.stages.front());
  Duration sum;
  for (int round = 0; round < phase.rounds; ++round) sum += job.exchange(phase.sent_B(round, 0, 0));
  return sum;
}

}  // namespace

Algorithm describe() {
  return {.name = "recursive_doubling",
          .summary = "exchanges at distance 1, 2, 4, ...; lg P rounds, for small messages",
          .operations = {Operation::allreduce, Operation::allgather, Operation::alltoall},
          .options = {},
          .schedule = schedule,
          .closed_form = closed_form,
          .waits_each_round = true,
          .rounds = Algorithm::Rounds::whole};
}

}  // namespace sgdsim::collective::recursive_doubling
