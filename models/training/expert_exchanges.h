// How tokens go to the GPUs of their experts, and what comes out comes back.
//
// Directly, a token goes to each of its experts, and where these are split, all that share one
// gather it. By nodes (as with DeepEP and HybridEP) a copy crosses to each node where a token has
// experts, to the card of the same place there, which hands one to each of their GPUs; on the way
// back sums go the same ways. Pieces cross and are handed on at the same time, so that the longer
// of both counts.
#pragma once

#include <array>

#include "models/training/layer_times.h"

namespace sgdsim {

// One exchange of a group on the way out, and its counterpart on the way back: bytes as GroupTimes
// and GroupPrograms take them.
struct ExpertExchange {
  GroupKind kind = GroupKind::experts;
  RankGroup group = {};
  Operation out = Operation::alltoall;
  double out_B = 0;
  Operation back = Operation::alltoall;
  double back_B = 0;
  // What a rank sends to others, on both ways.
  double sent_B() const {
    const auto ranks = static_cast<double>(group.size);
    return (out_B + back_B) * (ranks - 1) / ranks;
  }
};

struct ExpertExchanges {
  std::array<ExpertExchange, 2> all;  // in the order of the way out
  bool at_once = false;               // not one after the other
};

// UnfitGroup where nodes have no part each of the ranks that have all experts together.
ExpertExchanges expert_exchanges(const TrainingStep& step, int64_t per_node);

// Of so many equal parts of the experts in a row, those in which a token has any, as a mean, where
// the router takes its experts by chance. `parts` divides the experts.
double visited_parts(const Experts& experts, int64_t parts);

}  // namespace sgdsim
