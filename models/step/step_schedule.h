// A training step as a schedule of what every rank computes, sends and receives, for programs that
// play such schedules.
#pragma once

#include <vector>

#include "models/step/step.h"
#include "sim/work/rank_schedule.h"

namespace sgdsim {

class StepSchedule {
 public:
  // One iteration of the experiment, from its start. InputError where a schedule cannot say what
  // the experiment does: order by priority, blocks of pipelines, servers, costs without messages.
  explicit StepSchedule(const StepQuestion& question);

  int ranks() const { return question_.cluster->network.workers(); }
  struct RankWork {
    std::vector<RankOperation> operations;
    std::vector<RankSchedule::Requirement> requirements;
  };
  RankWork of_rank(int rank) const;

 private:
  struct Message {
    const PlannedMessage* planned = nullptr;
    Encoded encoded;
    std::vector<std::size_t> programs;  // of its transfers
    uint32_t first_tag = 0;
  };
  struct Prepared {
    Program program;
    std::optional<Network> network;  // if folding costs something else than on the cluster
  };
  void prepare(const PlannedMessage& planned);

  const StepQuestion& question_;
  std::vector<Duration> backward_;  // of each layer, as traced
  std::vector<double> fixed_;       // factors of the workers
  GradientPlan plan_;
  std::vector<Message> messages_;
  std::vector<Prepared> programs_;
  uint32_t tags_ = 0;
};

}  // namespace sgdsim
