// What all GPUs of a stage have in common: layers with their times, the order of passes, and what
// they exchange with others.
#pragma once

#include <array>
#include <vector>

#include "models/training/pass_order.h"
#include "models/training/stage_costs.h"

namespace sgdsim {

struct StagePlan {
  struct Item {  // a layer, or what is behind the last one
    bool is_head = false;
    LayerKind kind;
    PassTimes forward;
    PassTimes backward;
    bool is_recomputed = false;  // in the backward pass
    double forward_wait_s = 0;   // for the host
    double backward_wait_s = 0;
  };
  std::vector<std::vector<Item>> chunks;
  std::vector<PassSlot> slots;
  std::size_t last_fetch = 0;        // the last slot that needs weights
  std::array<Replicas, 2> replicas;  // of what is not an expert, and of experts
  int64_t pieces = 1;                // of an exchange of a chunk
  double tied_B = 0;                 // of the embedding, for both ends of the pipeline
  std::vector<double> copies_B;      // with dualpipe, of what both copies of a stage agree on
  double optimizer_s = 0;
};

// Puts stages together. The layout must fit the model; `groups` has as many
// GPUs as it.
class StagePlans {
 public:
  StagePlans(const TrainingStep& step, GroupTimes& groups);
  StagePlan stage(int64_t number);

 private:
  std::vector<StagePlan::Item> items_of(int64_t position) const;  // of a chunk

  const TrainingStep& step_;
  StageCosts costs_;
};

}  // namespace sgdsim
