// Ring: P chunks go round, each member sending to the next one.
//
// Reduce-scatter step k: member i sends chunk i - k to i + 1 and adds chunk i - 1 - k to its own.
// All-gather step k: it sends chunk i + 1 - k, and has everything after P - 1 steps. Any P.
#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "models/collective/registry.h"
#include "models/collective/unlike_ring.h"
#include "sim/net/wires.h"
#include "sim/play/sharing.h"

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

// Where start-ups are flight time, and links between nodes are unlike those inside. The last
// message to end has come, step by step, over the next link, or waited for the busiest port of all,
// where it may begin anywhere: the longest such way decides. Along the ring every `group`-th link
// is between nodes.
struct UnevenRing {
  int64_t group = 1;
  int64_t steps = 0;
  double inside_ps = 0;  // what a step over a link takes longer than one at the busiest port
  double across_ps = 0;

  // What the longest way with so many links between nodes adds, with as few inside, or as many, as
  // there may be among them.
  double longer_ps(int64_t across) const {
    const int64_t few = std::max<int64_t>(0, across - 1) * (group - 1);
    const int64_t many = std::min((across + 1) * (group - 1), steps - across);
    if (many < few) return 0;
    const double best = static_cast<double>(inside_ps > 0 ? many : few);
    return static_cast<double>(across) * across_ps + best * inside_ps;
  }
  // It grows with their number, or falls.
  double longest_ps() const {
    const int64_t all = (steps - 1) / group + 1;
    double most = 0;
    for (const int64_t across : {int64_t{0}, int64_t{1}, all - 1, all})
      most = std::max(most, longer_ps(across));
    return most;
  }
};

// All links one by one.
Duration unlike_time(const CollectiveJob& job, double chunk_B, int64_t steps) {
  const Network& network = job.network->at_size(chunk_B);
  const Phase phase = around(job, 0, false);
  PhaseLoads loads(network, phase);
  Wires wires(network, AlphaRule::wire);
  if (loads.any()) wires = wires.sharing(loads.at(0));
  std::vector<RingLink> links;
  for (int v = 0; v < job.size(); ++v) {
    const int from = job.team.member(v);
    const int to = job.team.member(v + 1 < job.size() ? v + 1 : 0);
    const Leg leg = wires.leg(from, to, chunk_B, false, phase.goes_both_ways());
    links.push_back({static_cast<double>(leg.flight.ps()), static_cast<double>(leg.transit.ps())});
  }
  return Duration::nearest_ps(steps_around_ps(links, steps));
}

// Empty where no links differ.
std::optional<Duration> uneven_time(const CollectiveJob& job, double chunk_B, int64_t steps) {
  if (!job.wire() || job.network == nullptr || job.team.size != job.network->workers())
    return std::nullopt;
  const Network& network = job.network->at_size(chunk_B);
  if (network.ports().empty() && network.classes().size() == 1) return std::nullopt;
  const NestedGroups* nested = network.nested();
  if (nested == nullptr || nested->group_sizes.size() != 1 || network.classes().size() != 2 ||
      network.has_loads())
    return unlike_time(job, chunk_B, steps);
  const int group = nested->group_sizes.front();
  if (group < 2 || group >= job.size()) return std::nullopt;
  if (job.size() % group != 0) return unlike_time(job, chunk_B, steps);
  const auto transit_ps = [&](const PairCost& cost) {
    return static_cast<double>(cost.both_ways().of(chunk_B).ps());
  };
  const PairCost& inside = network.classes()[0];
  const PairCost& across = network.classes()[1];
  const double stays_ps = std::max(transit_ps(inside), transit_ps(across));
  const auto longer_ps = [&](const PairCost& cost) {
    return static_cast<double>(cost.latency.ps()) + transit_ps(cost) - stays_ps;
  };
  const UnevenRing ring{group, steps, longer_ps(inside), longer_ps(across)};
  return Duration::nearest_ps(static_cast<double>(steps) * stays_ps + ring.longest_ps());
}

// (P-1)(alpha + n/P beta), plus n/P gamma per step where it folds. With whole bytes n/P is the
// largest chunk: it travels through all steps without ever waiting.
std::optional<Duration> closed_form(const CollectiveJob& job) {
  const double chunk_B = job.first_chunks(1, job.size());
  const int others = job.size() - 1;
  const int folding = job.operation == Operation::allgather ? 0 : others;
  const int steps = job.operation == Operation::allreduce ? 2 * others : others;
  // Unlike links, and a receiver that may be late to answer.
  if (job.cost.at(chunk_B).rendezvous && job.network != nullptr &&
      job.network->at_size(chunk_B).classes().size() > 1)
    return std::nullopt;
  const Duration moving = uneven_time(job, chunk_B, steps).value_or(job.exchange(chunk_B) * steps);
  return moving + job.fold(chunk_B) * folding;
}

}  // namespace

Algorithm describe() {
  return {.name = "ring",
          .summary = "P chunks around a ring; the least bytes, 2(P-1) steps for all-reduce",
          .operations = {Operation::allreduce, Operation::reduce_scatter, Operation::allgather},
          .options = {},
          .schedule = schedule,
          .closed_form = closed_form,
          .needs_no_root = always,
          .waits_each_round = true,
          .knows_links = [](const CollectiveJob& job) { return job.wire(); }};
}

}  // namespace sgdsim::collective::ring
