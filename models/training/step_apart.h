// Steps of which some replicas are slow: until replicas first exchange gradients, all others do
// what they do where none is slow, so that one of each kind is simulated for them; what is left is
// simulated GPU by GPU, and so are the slow replicas from their first pass on.
//
// It is right if nobody meets on a wire who is simulated apart: that is looked at afterwards.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "models/training/gpu_groups.h"
#include "models/training/gpu_stand_ins.h"
#include "sim/play/replay.h"

namespace sgdsim {

// A step in which no GPU is slow, as those do it who stand for all, and who does not follow it.
struct AlikeStep {
  GpuSchedule gpus;
  std::unique_ptr<AlikeRanks> ranks;
  Replayed replayed;  // with records
  GpuBegun begun;
  bool equal_chunks = false;
};

// The slow replicas; nothing where the layout is none of which that may be asked, as where passes
// exchange with other replicas, or most are slow.
std::optional<std::vector<bool>> slow_replicas(const TrainingStep& step,
                                               const std::vector<double>& factors);

// Who begins with what has been played; `alike` must stay.
void begin_with(AlikeStep& alike, std::vector<bool> slow);

// Whether nobody has met on a wire: of `rest`, which is what `replayed` is of, with records.
bool are_apart(const AlikeStep& alike, const TrainingStep& step, const Cluster& cluster,
               GroupTimes& groups, Resources& wires, const GpuSchedule& rest,
               const Replayed& replayed);

// How many follow it.
std::size_t followers(const AlikeStep& alike, const TrainingStep& step);

// All of the step, of what is left of it.
void complete(const AlikeStep& alike, const TrainingStep& step, GpuSchedule& rest,
              Replayed& replayed);

}  // namespace sgdsim
