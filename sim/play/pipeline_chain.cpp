// The recurrence of a pipelined chain.
//
// Block j over hop h starts when it is complete at the sender, and the sender's outgoing and the
// receiver's incoming port are free of block j - 1. A wave takes one block along the whole chain,
// so memory is per worker. The LP paper's figure and its formulas are special cases.
#include <algorithm>
#include <bit>
#include <cassert>

#include "sim/play/pipeline_engine.h"

namespace sgdsim {
namespace {

// The members of a flow in the order in which a block visits them, or empty if its tree branches.
std::vector<int> chain_order(const TreeFlow& flow) {
  const std::size_t size = flow.parents.size();
  std::vector<int> child(size, -1);
  int root = -1;
  for (std::size_t v = 0; v < size; ++v) {
    const int parent = flow.parents[v];
    if (parent < 0) {
      root = static_cast<int>(v);
      continue;
    }
    int& slot = child[static_cast<std::size_t>(parent)];
    if (slot >= 0) return {};
    slot = static_cast<int>(v);
  }
  std::vector<int> order;
  for (int v = root; v >= 0; v = child[static_cast<std::size_t>(v)]) order.push_back(v);
  if (flow.to_root) std::reverse(order.begin(), order.end());
  return order;
}

// When the resources along one flow are free again, by position in the chain.
struct ChainClocks {
  std::vector<int> workers;
  std::vector<Time> out_free, in_free, fold_free;
  std::vector<Time> taken;  // the last block; a jittered one does not overtake it
};

ChainClocks clocks_of(const Team& team, const TreeFlow& flow, int base,
                      const std::vector<Time>& clocks) {
  ChainClocks chain;
  for (const int v : chain_order(flow)) chain.workers.push_back(team.colleague(base, v));
  for (const int worker : chain.workers)
    chain.out_free.push_back(clocks[static_cast<std::size_t>(worker)]);
  chain.in_free = chain.fold_free = chain.taken = chain.out_free;
  return chain;
}

std::vector<Leg> legs_of(const ChainClocks& chain, const EdgeWires& wires, double size_B,
                         bool folds, bool both_ways) {
  std::vector<Leg> legs;
  for (std::size_t hop = 0; hop + 1 < chain.workers.size(); ++hop)
    legs.push_back(wires.leg(chain.workers[hop], chain.workers[hop + 1], size_B, folds, both_ways));
  return legs;
}

// The same where members wait for each other: a member gets a block, folds it and sends it on, and
// then says that it waits for the next one.
template <class LegOf, class Note>
Time wave_of_waiting(ChainClocks& chain, Time available, const LegOf& leg_of, const Note& note) {
  available = std::max(available, chain.out_free[0]);
  for (std::size_t hop = 0; hop + 1 < chain.workers.size(); ++hop) {
    const Leg leg = leg_of(hop);
    const Time waits = std::max(chain.in_free[hop + 1], chain.out_free[hop + 1]);
    const Time taken = std::max(available + leg.flight, waits) + leg.transit;
    note(hop, leg, available, taken);
    chain.taken[hop + 1] = taken;
    chain.out_free[hop] = taken - leg.flight;
    available = chain.in_free[hop + 1] = chain.fold_free[hop + 1] = taken + leg.fold;
  }
  return available;
}

// Takes one block along the chain; returns when it is complete at the end.
template <class LegOf>
Time wave(ChainClocks& chain, Time available, bool folds, bool fold_overlaps, const LegOf& leg_of) {
  for (std::size_t hop = 0; hop + 1 < chain.workers.size(); ++hop) {
    const Leg leg = leg_of(hop);
    Time& in_free = chain.in_free[hop + 1];
    const Time start = std::max({available, chain.out_free[hop], in_free - leg.flight});
    const Time first_byte = start + leg.flight;
    const Time taken =
        std::max(first_byte + std::max(leg.in_busy, leg.transit), chain.taken[hop + 1]);
    chain.taken[hop + 1] = taken;
    chain.out_free[hop] = start + leg.out_busy;
    in_free = first_byte + leg.in_busy;
    available = taken;
    if (!folds) continue;
    Time& fold_free = chain.fold_free[hop + 1];
    available = fold_free = std::max(taken, fold_free) + leg.fold;
    if (!fold_overlaps) in_free = available;
  }
  return available;
}

// Whether all clocks of a chain that a wave reads have moved by this length; the others stay.
bool has_moved(const ChainClocks& before, const ChainClocks& now, bool folds, Duration by) {
  for (std::size_t hop = 0; hop + 1 < now.workers.size(); ++hop)
    if (now.out_free[hop] != before.out_free[hop] + by ||
        now.in_free[hop + 1] != before.in_free[hop + 1] + by ||
        now.taken[hop + 1] != before.taken[hop + 1] + by ||
        (folds && now.fold_free[hop + 1] != before.fold_free[hop + 1] + by))
      return false;
  return true;
}

void move(ChainClocks& chain, bool folds, Duration by) {
  for (std::size_t hop = 0; hop + 1 < chain.workers.size(); ++hop) {
    chain.out_free[hop] += by;
    chain.in_free[hop + 1] += by;
    chain.taken[hop + 1] += by;
    if (folds) chain.fold_free[hop + 1] += by;
  }
}

// All blocks of a run; `play(block)` takes one along all chains. Where a block has moved all clocks
// by one length, so does every block behind it, since a wave only takes maxima and adds: they are
// not played. That is looked at behind 2, 4, 8, ... blocks.
template <class Play>
void play_run(std::vector<ChainClocks>& chains, const std::vector<bool>& folds, int64_t count,
              bool are_alike, const Play& play) {
  std::vector<ChainClocks> before;
  for (int64_t b = 0; b < count; ++b) {
    const bool looks = are_alike && std::has_single_bit(static_cast<uint64_t>(b)) && b + 1 < count;
    if (looks) before = chains;
    play(b);
    if (!looks) continue;
    const Duration by = chains[0].out_free[0] - before[0].out_free[0];
    bool all = true;
    for (std::size_t c = 0; c < chains.size(); ++c)
      all = all && has_moved(before[c], chains[c], folds[c], by);
    if (!all) continue;
    for (std::size_t c = 0; c < chains.size(); ++c) move(chains[c], folds[c], by * (count - 1 - b));
    return;
  }
}

}  // namespace

bool is_plain_chain(const TreePipeline& pipeline) {
  if (pipeline.flows.size() > 2) return false;
  if (pipeline.flows.size() == 2 && (!pipeline.link_duplex || pipeline.flows[1].released_by != 0))
    return false;
  return std::all_of(pipeline.flows.begin(), pipeline.flows.end(), [](const TreeFlow& flow) {
    return chain_order(flow).size() == flow.parents.size();
  });
}

void play_chain(const TreePipeline& pipeline, uint64_t stage, const EdgeWires& wires,
                const MessageJitter& jitter, std::vector<Time>& clocks, MessageLog* log,
                const Stopper* stopper) {
  assert(is_plain_chain(pipeline));
  const Team& team = pipeline.team;
  const std::vector<TreeFlow>& flows = pipeline.flows;
  std::vector<bool> folds;
  for (const TreeFlow& flow : flows) folds.push_back(pipeline.reduces && flow.to_root);
  const int workers = wires.network().workers();
  Lookout lookout(stopper);
  for (int base = 0; base < workers; ++base) {
    if (base / team.stride % team.size != 0 || !team.takes_part(base)) continue;
    std::vector<ChainClocks> chains;
    for (const TreeFlow& flow : flows) chains.push_back(clocks_of(team, flow, base, clocks));
    int64_t block = 0;
    for (const BlockRun& run : flows[0].blocks) {
      std::vector<std::vector<Leg>> legs;  // by flow and hop: alike for all blocks of a run
      for (std::size_t f = 0; f < flows.size(); ++f)
        legs.push_back(legs_of(chains[f], wires, run.size_B, folds[f], pipeline.goes_both_ways()));
      const bool are_alike = !jitter.on() && log == nullptr;
      play_run(chains, folds, run.count, are_alike, [&](int64_t b) {
        lookout.passed(team.size);
        Time available = chains[0].out_free.front();
        for (std::size_t f = 0; f < flows.size(); ++f) {
          const auto leg_of = [&](std::size_t hop) {
            const Leg& leg = legs[f][hop];
            if (!jitter.on()) return leg;
            const uint64_t round =
                (static_cast<uint64_t>(f) << 48U) + static_cast<uint64_t>(block + b);
            const auto from = static_cast<uint64_t>(chains[f].workers[hop]);
            return Wires::scaled(leg, jitter.factor(stage, round, from));
          };
          const auto note = [&](std::size_t hop, const Leg& leg, Time sent, Time taken) {
            if (log == nullptr) return;
            log->push_back({chains[f].workers[hop], chains[f].workers[hop + 1], static_cast<int>(f),
                            block + b, run.size_B, sent, taken - leg.flight, taken - leg.transit,
                            taken, leg.fold});
          };
          available = pipeline.members_wait
                          ? wave_of_waiting(chains[f], available, leg_of, note)
                          : wave(chains[f], available, folds[f], pipeline.reduce_overlaps, leg_of);
        }
      });
      block += run.count;
    }
    for (const ChainClocks& chain : chains)
      for (std::size_t i = 0; i < chain.workers.size(); ++i) {
        Time& clock = clocks[static_cast<std::size_t>(chain.workers[i])];
        clock = std::max(
            {clock, chain.out_free[i], chain.in_free[i], chain.taken[i], chain.fold_free[i]});
      }
  }
}

}  // namespace sgdsim
