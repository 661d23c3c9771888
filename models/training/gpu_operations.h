// What one GPU does inside its layers: it computes, takes part in the collectives of its groups,
// and sends messages. Every operation waits for the ends of others: a few at most.
#pragma once

#include <array>

#include "models/collective/rank_writer.h"
#include "models/training/gpu_parts.h"
#include "models/training/group_times.h"
#include "models/training/stage_plan.h"

namespace sgdsim {

// The last operations of what others wait for.
using Ends = std::vector<uint32_t>;
inline void add(Ends& to, const Ends& more) { to.insert(to.end(), more.begin(), more.end()); }

class GpuOperations {
 public:
  GpuOperations(const TrainingStep& step, const GpuGroups::OfGpu& groups, GroupPrograms& programs,
                bool wants_parts)
      : step_(step),
        layout_(step.layout),
        programs_(programs),
        groups_(groups),
        writer_(work_),
        parts_(wants_parts) {}
  GpuOperations(const GpuOperations&) = delete;
  GpuOperations& operator=(const GpuOperations&) = delete;

  const GpuGroups::OfGpu& groups() const { return groups_; }
  RankWork& work() { return work_; }
  std::size_t size() const { return work_.before + work_.operations.size(); }
  GpuParts& parts() { return parts_; }
  Duration computed() const { return computed_; }
  // How far a GPU has come: the same for all of a stage.
  struct Progress {
    uint32_t operations = 0;
    std::array<uint32_t, group_kinds> next_call{};
    uint64_t next_round = 0;  // of blocks of attention
  };
  Progress progress() const {
    Progress progress = at_;
    progress.operations = static_cast<uint32_t>(size());
    return progress;
  }
  // What was done until then is not written.
  void go_on_from(const Progress& progress);
  // How many times as long it computes from now on, and what that is to people.
  void set_slowness(double factor) { factor_ = factor; }
  void set_computing(GpuPart::Kind kind) { computing_ = kind; }

  // Each goes on behind `chain`, which becomes its end.
  void compute(Ends& chain, double seconds);
  void wait(Ends& chain, double seconds);  // for the host, however slow the GPU is
  void collective(Ends& chain, GroupKind kind, Operation operation, double whole_B);
  void message(Ends& chain, RankVerb verb, int64_t peer, double size_B, uint32_t tag);
  void item(Ends& chain, const StagePlan::Item& item, Pass pass);
  // So many that nobody waits for more than a few.
  void join(Ends& ends);

  // Tags of one kind follow each other; both ends take as many.
  uint32_t tag(GroupKind kind, uint64_t number) const;

 private:
  void before_pair(Ends& chain);
  void after_pair(Ends& chain);
  void attend(Ends& chain, LayerKind kind, double seconds, bool is_forward);
  void attend_around(Ends& chain, double seconds, double sent_B);
  void visit_experts(Ends& chain, double seconds, const PassTimes& times);
  void exchange_again(Ends& chain, LayerKind kind);
  void layer(Ends& chain, LayerKind kind, const PassTimes& times, double computed_s,
             bool is_forward);
  uint32_t take(Ends& chain, Duration length);
  void times(Ends& chain, const StagePlan::Item& item, const PassTimes& times, bool with_weights,
             bool is_forward);

  const TrainingStep& step_;
  const Layout& layout_;
  GroupPrograms& programs_;
  const GpuGroups::OfGpu groups_;
  RankWork work_;
  RankWriter writer_;
  GpuParts parts_;
  GpuPart::Kind computing_ = GpuPart::Kind::compute;
  double factor_ = 1;
  Duration computed_;
  Progress at_;
};

}  // namespace sgdsim
