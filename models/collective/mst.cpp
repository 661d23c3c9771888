// MST: the binomial ("minimum spanning") tree that MPI libraries and Caffe use for small messages.
//
// Broadcast: with masks 2^(ceil(lg P) - 1), ..., 2, 1 every member that is a multiple of 2 mask
// sends everything to member + mask. Reduce runs the same tree towards the root with masks 1, 2, 4.
// A parent takes its children one by one (rendezvous) or lets them push into private buffers while
// it folds (eager, as Caffe's P2PSync does); they differ when P is no power of two.
#include <algorithm>

#include "models/collective/registry.h"

namespace sgdsim::collective::mst {
namespace {

constexpr FlagOption eager{{"mst_reduce", "rendezvous|eager",
                            "children one by one, or into private buffers", "reduce, allreduce"}};

Phase down(const CollectiveJob& job) {
  return job.phase(Talk::tree_down, Load::whole, log2_up(job.size()));
}

Phase up(const CollectiveJob& job) {
  Phase phase = job.phase(Talk::tree_up, Load::whole, log2_up(job.size()));
  phase.folds = true;
  phase.handshake = job.options.of(eager) ? Handshake::eager : Handshake::rendezvous;
  return phase;
}

Program schedule(const CollectiveJob& job) {
  switch (job.operation) {
    case Operation::broadcast:
      return Program().then(down(job));
    case Operation::reduce:
      return Program().then(up(job));
    default:
      return Program().then(up(job)).then(down(job));
  }
}

// ceil(lg P)(alpha + n beta). With alpha in flight a member's sends follow each other by n beta, so
// member v is done after popcount(v) alphas and as many n beta as masks down to its lowest bit. The
// worst v agrees with P - 1 down to some set bit, has 0 there and ones below.
Duration broadcast_time(const CollectiveJob& job) {
  const double n = job.bytes();
  const int levels = log2_up(job.size());
  if (!job.wire()) return levels * job.message(n);
  auto arrival = [&](int v) {
    return job.latency(n) * std::popcount(static_cast<unsigned>(v)) +
           job.transfer(n) * (levels - std::countr_zero(static_cast<unsigned>(v)));
  };
  const int last = job.size() - 1;
  Duration worst = arrival(last);
  for (int bit = 1; bit < levels; ++bit)
    if ((last >> bit & 1) != 0)
      worst = std::max(worst, arrival((last & ~(2 << bit >> 1)) | ((1 << bit) - 1)));
  return worst;
}

// The time at which the root of a subtree of `size` members has folded everything. Its children
// have 1, 2, 4, ... members, which `full` has the times of; only the last one may have fewer.
Duration subtree_time(const CollectiveJob& job, int size, const std::vector<Duration>& full) {
  if (size == 1) return {};
  const double n = job.bytes();
  const Duration flight = job.wire() ? job.latency(n) : Duration();
  const Duration transit = job.wire() ? job.transfer(n) : job.message(n);
  const Duration fold = job.fold(n);
  Duration done;  // of the root
  Duration in_port;
  for (int level = 0; 1 << level < size; ++level) {
    const int rest = size - (1 << level);
    const Duration child =
        rest >= 1 << level ? full[static_cast<std::size_t>(level)] : subtree_time(job, rest, full);
    if (job.options.of(eager)) {
      in_port = std::max(child + flight, in_port) + transit;
      done = std::max(done, in_port) + fold;
    } else {
      done = std::max(child + flight, done) + transit + fold;
    }
  }
  return done;
}

Duration reduce_time(const CollectiveJob& job, int size) {
  const int levels = log2_up(size);
  // At rendezvous, with alpha at the ports, no child is later than the one before is folded.
  if (!job.wire() && !job.options.of(eager))
    return levels * (job.message(job.bytes()) + job.fold(job.bytes()));
  std::vector<Duration> full;
  for (int level = 0; level < levels; ++level) full.push_back(subtree_time(job, 1 << level, full));
  return subtree_time(job, size, full);
}

std::optional<Duration> closed_form(const CollectiveJob& job) {
  switch (job.operation) {
    case Operation::broadcast:
      return broadcast_time(job);
    case Operation::reduce:
      return reduce_time(job, job.size());
    default:
      return reduce_time(job, job.size()) + broadcast_time(job);
  }
}

}  // namespace

Algorithm describe() {
  return {.name = "mst",
          .summary = "binomial tree, the whole message on every edge",
          .operations = {Operation::broadcast, Operation::reduce, Operation::allreduce},
          .options = {eager},
          .schedule = schedule,
          .closed_form = closed_form};
}

}  // namespace sgdsim::collective::mst
