// Few blocks along few members, and the rest by what one more of each adds.
//
// Blocks on their way to the root stand back to back at every member's incoming port, and go before
// those on their way back, which therefore begin when the last one has passed. They meet only
// around that moment, a few hops from the root. So one member more adds a hop up and a hop down,
// and one block more adds its time on both: beyond the few that meet, a chain's time is a sum. Two
// members and two blocks more are played, too, and must add just that, or all is played.
#include <algorithm>
#include <cmath>

#include "sim/play/pipeline_engine.h"

namespace sgdsim {
namespace {

// False if the tree branches.
bool is_chain(const std::vector<int>& parents) {
  std::vector<int> children(parents.size(), 0);
  for (const int parent : parents)
    if (parent >= 0 && ++children[static_cast<std::size_t>(parent)] > 1) return false;
  return true;
}

bool same_blocks(const TreeFlow& a, const TreeFlow& b) {
  return std::equal(a.blocks.begin(), a.blocks.end(), b.blocks.begin(), b.blocks.end(),
                    [](const BlockRun& one, const BlockRun& other) {
                      return one.size_B == other.size_B && one.count == other.count;
                    });
}

// Full blocks, and perhaps a shorter one behind them, to the root of a chain and back at once, with
// folds that the port waits for.
bool goes_up_and_down(const TreePipeline& line, const Wires& wires) {
  if (line.flows.size() != 2 || line.link_duplex || line.reduce_overlaps || !line.reduces)
    return false;
  const TreeFlow& up = line.flows[0];
  const TreeFlow& down = line.flows[1];
  const bool in_order = up.to_root && !down.to_root && down.released_by == 0 &&
                        up.priority_class < down.priority_class;
  if (!in_order || up.parents != down.parents || !is_chain(up.parents)) return false;
  if (!same_blocks(up, down) || up.blocks.empty() || up.blocks.size() > 2) return false;
  const bool has_rest = up.blocks.size() == 2;
  if (has_rest && (up.blocks[1].count != 1 || up.blocks[1].size_B >= up.blocks[0].size_B))
    return false;
  return line.team.stride == 1 && line.team.size == wires.network().workers();
}

// The last end of a chain of so many members, and so many full blocks.
Time play_short(const TreePipeline& line, const PairCost& cost, int members, int64_t blocks) {
  TreePipeline shorter = line;
  shorter.team = {.size = members, .stride = 1};
  for (TreeFlow& flow : shorter.flows) {
    flow.parents.resize(static_cast<std::size_t>(members));
    for (int v = 0; v < members; ++v) flow.parents[static_cast<std::size_t>(v)] = v - 1;
    flow.blocks.front().count = blocks;
  }
  const Network network = Network::uniform(members, cost);
  std::vector<Time> clocks(static_cast<std::size_t>(members));
  play_trees(shorter, 0, Wires(network, AlphaRule::port), {}, clocks);
  return *std::max_element(clocks.begin(), clocks.end());
}

std::optional<Duration> play_line(const TreePipeline& line, const Wires& wires) {
  const PairCost cost = wires.network().between(0, 1);
  const BlockRun& full = line.flows[0].blocks.front();
  const Leg leg = wires.leg(0, 1, full.size_B, true, line.goes_both_ways());
  if (leg.transit <= Duration()) return std::nullopt;
  const Duration both_ways = leg.transit + leg.fold + leg.transit;
  // As far as those meet that fold for long.
  const double few = 12 + 4 * std::ceil(leg.fold / leg.transit);
  constexpr double most_played = 200;
  if (few > most_played) return std::nullopt;
  const int members = std::min(line.team.size, static_cast<int>(few));
  const int64_t blocks = std::min(full.count, static_cast<int64_t>(few));
  const bool is_longer = line.team.size > members + 1;
  const bool has_more = full.count > blocks + 1;
  if (!is_longer && !has_more) return std::nullopt;
  const Time played = play_short(line, cost, members, blocks);
  for (int more = 1; more <= 2; ++more) {
    if (is_longer && play_short(line, cost, members + more, blocks) - played != both_ways * more)
      return std::nullopt;
    if (has_more && play_short(line, cost, members, blocks + more) - played != both_ways * more)
      return std::nullopt;
  }
  return played - Time() + both_ways * (line.team.size - members + (full.count - blocks));
}

}  // namespace

std::optional<Time> play_long_chain(const Program& program, const Wires& wires, Time start) {
  const Network& network = wires.network();
  if (wires.alpha() != AlphaRule::port || !network.is_uniform() || network.has_bands())
    return std::nullopt;
  Time end = start;
  bool are_together = true;
  for (const Stage& stage : program.stages) {
    if (const auto* barrier = std::get_if<Barrier>(&stage)) {
      if (barrier->team.size != network.workers()) return std::nullopt;
      are_together = true;
      continue;
    }
    if (const auto* launch = std::get_if<Launch>(&stage)) {
      end += launch->length;
      continue;
    }
    const auto* line = std::get_if<TreePipeline>(&stage);
    if (line == nullptr || !are_together || !goes_up_and_down(*line, wires)) return std::nullopt;
    const auto length = play_line(*line, wires);
    if (!length) return std::nullopt;
    end += *length;
    are_together = false;
  }
  return end;
}

}  // namespace sgdsim
