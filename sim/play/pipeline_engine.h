// Playing blocks along trees: by recurrence where every flow is a chain of its own resources, by
// events where flows meet at ports or trees branch.
#pragma once

#include <optional>
#include <vector>

#include "sim/core/stopper.h"
#include "sim/net/wires.h"
#include "sim/play/message_log.h"
#include "sim/play/sharing.h"
#include "sim/work/pipeline.h"
#include "sim/work/schedule.h"

namespace sgdsim {

// What messages between workers take, where an edge is as slow as its own ways are shared.
class EdgeWires {
 public:
  EdgeWires(const Wires& wires) : wires_(wires) {}  // nothing is shared
  EdgeWires(const Wires& wires, TreeLoads& loads)
      : wires_(wires), loads_(loads.any() ? &loads : nullptr) {}
  const Network& network() const { return wires_.network(); }
  Leg leg(int from, int to, double size_B, bool folds, bool both_ways) const {
    if (loads_ == nullptr) return wires_.leg(from, to, size_B, folds, both_ways);
    return wires_.sharing(loads_->of(from, to)).leg(from, to, size_B, folds, both_ways);
  }

 private:
  Wires wires_;
  TreeLoads* loads_ = nullptr;
};

// Whether the recurrence gives the answer; where it does, both do, to the same picosecond, unless
// members wait: that is played by the recurrence only.
bool is_plain_chain(const TreePipeline& pipeline);

// `log`: of blocks; only where members wait. Of `stopper` only looks are asked for.
void play_chain(const TreePipeline& pipeline, uint64_t stage, const EdgeWires& wires,
                const MessageJitter& jitter, std::vector<Time>& clocks, MessageLog* log = nullptr,
                const Stopper* stopper = nullptr);

// The end of the last worker of a program of long chains, where all workers start together and are
// alike, without playing all of them; or nothing where that is not known.
std::optional<Time> play_long_chain(const Program& program, const Wires& wires, Time start);

// `log`: of blocks, in the order of their starts.
void play_trees(const TreePipeline& pipeline, uint64_t stage, const EdgeWires& wires,
                const MessageJitter& jitter, std::vector<Time>& clocks, MessageLog* log = nullptr,
                const Stopper* stopper = nullptr);

}  // namespace sgdsim
