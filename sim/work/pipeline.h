// A message cut into blocks that stream along the edges of trees: LP's chain, double binary trees.
//
// A flow carries its blocks, in order, over every edge of one tree, towards the root or away from
// it. A block moves on as soon as it is complete where it is (towards the root: as soon as all
// children's copies are folded in), the sender's outgoing port is free and the receiver's incoming
// port is free. Where flows meet at a port, the lower class wins, then the lower block, then the
// flow that comes first in `flows`, then the edge nearer to where the flow starts.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/work/team.h"

namespace sgdsim {

// `count` blocks of `size_B` bytes, one after the other.
struct BlockRun {
  double size_B = 0;
  int64_t count = 0;
};

struct TreeFlow {
  std::vector<int> parents;  // relative member -> its parent, -1 at the root
  bool to_root = false;
  int priority_class = 0;
  // Blocks start at the root only when this earlier flow has completed them there; -1: at once.
  int released_by = -1;
  std::vector<BlockRun> blocks;

  int64_t block_count() const {
    int64_t count = 0;
    for (const BlockRun& run : blocks) count += run.count;
    return count;
  }
};

struct TreePipeline {
  Team team;
  std::vector<TreeFlow> flows;
  bool reduces = false;  // flows to the root fold
  // Of one chain: a member gets a block, folds it and sends it on before it waits for the next one.
  bool members_wait = false;
  bool reduce_overlaps = false;  // by an engine of its own, while the next block arrives
  bool link_duplex = false;      // every directed edge is a resource, instead of the two ports

  // Whether those inside get blocks while they send others.
  bool goes_both_ways() const { return team.size > 2; }
};

}  // namespace sgdsim
