// GPU by GPU, all of its operations, or those that are left.
#include "models/training/gpu_schedule.h"

#include <algorithm>
#include <map>
#include <optional>

#include "models/training/gpu_groups.h"
#include "models/training/gpu_writer.h"
#include "models/training/hybrid_step.h"
#include "sim/core/cast.h"
#include "sim/work/program_traffic.h"

namespace sgdsim {
namespace {

// Of all GPUs of a stage, where some have begun.
class StageProgress {
 public:
  struct Of {
    GpuWriter::Progress passes;    // before the first pass
    GpuWriter::Progress exchange;  // before the first exchange with other replicas
  };
  // `writer`: of a GPU of the stage.
  const Of& of(GpuWriter& writer, int64_t stage) {
    if (stage == stage_) return known_;
    stage_ = stage;
    writer.write_gathers();
    known_.passes = writer.progress();
    writer.write_alone();
    known_.exchange = writer.progress();
    return known_;
  }

 private:
  int64_t stage_ = -1;
  Of known_;
};

// Of operations that are not among these, others wait for the end.
void release_by_times(RankWork& work, const std::function<Time(uint32_t)>& ended) {
  std::vector<RankSchedule::Requirement> kept;
  std::vector<Time> released(work.operations.size());
  for (const RankSchedule::Requirement& one : work.requirements) {
    const uint32_t then = one.then - work.before;
    if (one.first >= work.before)
      kept.push_back({one.first - work.before, then, one.at_start});
    else
      released[then] = std::max(released[then], ended(one.first));
  }
  for (uint32_t then = 0; then < released.size(); ++then) {
    if (released[then] == Time()) continue;
    kept.push_back({static_cast<uint32_t>(work.operations.size()), then, false});
    work.operations.push_back({.amount = released[then].since_start().ps(),
                               .processor = work.operations[then].processor,
                               .verb = RankVerb::until});
  }
  work.requirements = std::move(kept);
}

// What is needed to write GPU by GPU.
class ScheduleWriter {
 public:
  ScheduleWriter(const TrainingStep& step, const Cluster& cluster, GroupTimes& groups,
                 const GpuScheduleOptions& options)
      : step_(step),
        options_(options),
        of_stage_(step.layout.gpus() / step.layout.pipeline),
        of_replica_(step.layout.tensor * step.layout.context),
        plans_(step, groups),
        slowness_(slowness_of_passes(step, groups)),
        all_{RankSchedule(static_cast<uint32_t>(step.layout.gpus())), {}, {}, {}, {}},
        programs_(cluster.network, groups, all_.schedule, options.equal_chunks),
        groups_of_(step.layout, cluster.workers_per_node, all_.schedule) {
    all_.computed.resize(at(step.layout.gpus()));
  }

  // No more operations than `most`.
  void write(int64_t gpu, std::size_t most) {
    GpuWriter writer = writer_of(gpu);
    const auto before = static_cast<uint32_t>(all_.schedule.operations().size());
    RankWork& work = options_.begun == nullptr ? writer.write(most) : write_rest(writer, gpu, most);
    all_.schedule.write(static_cast<uint32_t>(gpu), work.operations, work.requirements);
    all_.first.push_back(before);
    all_.computed[at(gpu)] = writer.computed();
    if (options_.wants_parts) all_.parts.push_back(writer.take_parts(before));
  }
  GpuCuts cuts(int64_t stage) {
    GpuWriter writer = writer_of(stage * of_stage_);
    const StageProgress::Of& progress = progress_.of(writer, stage);
    return {progress.passes.operations.operations, progress.exchange.operations.operations};
  }
  std::size_t operations() const { return all_.schedule.operations().size(); }
  GpuSchedule take() {
    all_.group_labels = groups_of_.labels();
    return std::move(all_);
  }

 private:
  GpuWriter writer_of(int64_t gpu) {
    const int64_t stage = gpu / of_stage_;
    if (stage != planned_) plan_ = plans_.stage(planned_ = stage);
    return {step_, groups_of_.of(gpu), programs_, *plan_, gpu, slowness_, options_};
  }
  RankWork& write_rest(GpuWriter& writer, int64_t gpu, std::size_t most) {
    const StageProgress::Of& progress = progress_.of(writer, gpu / of_stage_);
    const bool only_gathers = options_.begun->only_gathers[at(gpu % of_stage_ / of_replica_)];
    writer.go_on_from(only_gathers ? progress.passes : progress.exchange);
    RankWork& work = writer.write_rest(most);
    release_by_times(work,
                     [&](uint32_t operation) { return options_.begun->ended(gpu, operation); });
    return work;
  }

  const TrainingStep& step_;
  const GpuScheduleOptions& options_;
  int64_t of_stage_;
  int64_t of_replica_;
  StagePlans plans_;
  double slowness_;
  GpuSchedule all_;
  GroupPrograms programs_;
  GpuGroups groups_of_;
  std::optional<StagePlan> plan_;
  int64_t planned_ = -1;
  StageProgress progress_;
};

}  // namespace

GpuSchedule gpu_schedule(const TrainingStep& step, const Cluster& cluster, GroupTimes& groups,
                         const GpuScheduleOptions& options) {
  const int64_t of_stage = step.layout.gpus() / step.layout.pipeline;
  const std::size_t most = most_operations(options.wants_parts);
  const bool are_all = options.only.empty();
  const auto count = are_all ? step.layout.gpus() : static_cast<int64_t>(options.only.size());
  ScheduleWriter all(step, cluster, groups, options);
  for (int64_t i = 0; i < count; ++i) {
    look(options.stopper);
    const int64_t gpu = are_all ? i : options.only[at(i)];
    // All GPUs of a stage have about as many.
    const int64_t rest = are_all ? of_stage - gpu % of_stage : count - i;
    const auto left = static_cast<std::size_t>(options.begun == nullptr ? rest : 1);
    if (all.operations() > most) refuse_operations(options.wants_parts);
    all.write(gpu, (most - all.operations()) / left);
  }
  return all.take();
}

std::vector<GpuCuts> gpu_cuts(const TrainingStep& step, const Cluster& cluster,
                              GroupTimes& groups) {
  const GpuScheduleOptions options;
  ScheduleWriter writer(step, cluster, groups, options);
  std::vector<GpuCuts> cuts;
  for (int64_t stage = 0; stage < step.layout.pipeline; ++stage) cuts.push_back(writer.cuts(stage));
  return cuts;
}

double messages_of(const RankSchedule& schedule) {
  std::map<uint32_t, double> of_member;  // by program
  double messages = 0;
  for (const RankOperation& one : schedule.operations()) {
    messages += one.verb == RankVerb::send ? 1 : 0;
    if (one.verb != RankVerb::call) continue;
    const RankCall call = one.call();
    const auto [known, is_new] = of_member.try_emplace(call.program, 0);
    if (is_new) {
      const auto members = static_cast<int>(schedule.group(call.group).size());
      const Traffic traffic = traffic_of(schedule.program(call.program), members);
      known->second = static_cast<double>(traffic.messages) / members;
    }
    messages += known->second;
  }
  return messages;
}

std::string too_many_messages(const std::string& fewer) {
  return "its collectives are more than 100 million messages, the most that are simulated; fewer " +
         fewer + " would fit";
}

}  // namespace sgdsim
