// A training step of a layout as what every GPU computes, sends and receives, and its collectives,
// so that all of it can meet on the wires of a cluster.
//
// Every pass is written layer by layer: its collectives inside a layer are rings, exchanges with
// experts go directly, keys and values travel beside the blocks of attention. What replicas
// exchange follows one another beside the passes, as in pipeline_play.h.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "models/training/gpu_parts.h"
#include "models/training/group_times.h"
#include "models/training/layer_times.h"
#include "sim/core/stopper.h"
#include "sim/work/rank_schedule.h"

namespace sgdsim {

// How many times as long a GPU computes its next pass; null: all as given.
using GpuSlowness = std::function<double(int64_t gpu)>;

struct GpuSchedule {
  RankSchedule schedule = RankSchedule(0);
  std::vector<Duration> computed;           // by each GPU
  std::vector<std::vector<GpuPart>> parts;  // of each GPU, where asked for
  std::vector<uint64_t> group_labels;       // of the schedule's groups (gpu_groups.h)
  std::vector<uint32_t> first;              // operation of each GPU that is written, in order
};

// Where GPUs of a stage have the same behind them: so many of their operations.
struct GpuCuts {
  uint32_t passes = 0;    // of which the first pass is none
  uint32_t exchange = 0;  // of which nothing is with other replicas, but for gathers before passes
};
// Of each stage of a layout with one chunk a stage, and zero0 or zero1.
std::vector<GpuCuts> gpu_cuts(const TrainingStep& step, const Cluster& cluster, GroupTimes& groups);

// What GPUs have done already, which is not written again.
struct GpuBegun {
  std::vector<bool> only_gathers;  // by replica: no pass; else all until the first exchange
  std::function<Time(int64_t gpu, uint32_t operation)> ended;
};

// Operations of all GPUs at most, and where their parts are asked for.
inline constexpr std::size_t most_gpu_operations = 20'000'000;
inline constexpr std::size_t most_shown_operations = 2'000'000;

struct GpuScheduleOptions {
  GpuSlowness slowness = {};
  bool wants_parts = false;
  Stopper* stopper = nullptr;
  std::vector<int> only = {};       // these GPUs are written, in order; empty: all
  bool equal_chunks = false;        // of collectives; else some are a byte larger than others
  const GpuBegun* begun = nullptr;  // of a layout as of gpu_cuts()
};

// The layout must fit the model, and the cluster must have its GPUs; `groups` likewise. InputError
// beyond so many operations.
GpuSchedule gpu_schedule(const TrainingStep& step, const Cluster& cluster, GroupTimes& groups,
                         const GpuScheduleOptions& options = {});

// Of collectives of all GPUs in one step at most; and packets.
inline constexpr double most_step_messages = 1e8;
// Of the ranks that are written, where others of their groups are not.
double messages_of(const RankSchedule& schedule);
// `fewer`: of what less would be simulated.
std::string too_many_messages(const std::string& fewer);

}  // namespace sgdsim
