// GPUs of which one stands for all that are alike: tensor-parallel ranks, replicas.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "models/training/gpu_schedule.h"
#include "sim/play/stand_ins.h"

namespace sgdsim {

struct GpuStandIns {
  StandIns all;
  bool equal_chunks = false;  // they are alike if no chunk is a byte larger than others
};

// From so many messages on, chunks that differ by a byte are taken as equal where that leaves fewer
// GPUs to play: less than a billionth of a step, where all would take seconds.
inline constexpr double least_equal_messages = 2e6;

// `factors`: how many times as long each GPU computes; empty: all as given. Nothing if hardly any
// are alike on these wires, or that is not known. The groups must have as many GPUs as the layout.
std::optional<GpuStandIns> gpu_stand_ins(const TrainingStep& step, const Cluster& cluster,
                                         GroupTimes& groups, const std::vector<double>& factors,
                                         Resources& wires, Reduction reduction);

// The ranks of a schedule that was written for them only, which must stay.
std::unique_ptr<AlikeRanks> alike_ranks(StandIns stand_ins, const GpuSchedule& gpus);

}  // namespace sgdsim
