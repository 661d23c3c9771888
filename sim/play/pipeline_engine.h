// Playing blocks along trees: by recurrence where every flow is a chain of its own resources, by
// events where flows meet at ports or trees branch.
#pragma once

#include <vector>

#include "sim/net/wires.h"
#include "sim/work/pipeline.h"

namespace sgdsim {

// Whether the recurrence gives the answer; where it does, both do, to the same picosecond.
bool is_plain_chain(const TreePipeline& pipeline);

void play_chain(const TreePipeline& pipeline, uint64_t stage, const Wires& wires,
                const MessageJitter& jitter, std::vector<Time>& clocks);

// One transfer as it happened, in the order of the starts; for tables and timelines.
struct BlockTransfer {
  int from = 0;
  int to = 0;
  int flow = 0;
  int64_t block = 0;
  Time start;
  Time end;  // including a fold in series
};

void play_trees(const TreePipeline& pipeline, uint64_t stage, const Wires& wires,
                const MessageJitter& jitter, std::vector<Time>& clocks,
                std::vector<BlockTransfer>* log = nullptr);

}  // namespace sgdsim
