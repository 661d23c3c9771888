// What exchanges of a training reach of the links of boxes with GPUs, where the cluster file does
// not say it: products run beside them, and take memory and multiprocessors from their kernels.
#pragma once

#include <optional>
#include <string>

#include "models/collective/algorithm_choice.h"
#include "models/training/gpu.h"
#include "sim/core/fields.h"

namespace sgdsim {

// Parts of the rates, of those links that have no `efficiency`.
struct UsualReach {
  std::optional<double> inside;   // of a node
  std::optional<double> between;  // nodes: cards

  bool any() const { return inside || between; }
};
inline Fields fields_of(const UsualReach& reach) {
  return {Field("inside", reach.inside, "of the links inside a node").from(0, 1),
          Field("between", reach.between, "of the cards").from(0, 1)};
}

// Of NCCL's rates inside a node, measured collectives of trainings reach 0.84 on B200 (SimuMax) and
// 0.87 on A100 (as the case of vTrain has it), and the Calculon simulator assumes 0.79 of the
// H100's; of cards it assumes 0.9. The published steps of H100 are nearest with these.
inline constexpr double reach_inside = 0.8;
inline constexpr double reach_between = 0.9;

// Written into the cluster of boxes at one switch, or on rails.
UsualReach add_usual_reach(Json& cluster);
bool has_layout(const Json& jobs);  // of a jobs file: whether one of them is a layout
// What NCCL's model is not told by the cluster into which that was written.
NcclView nccl_view(const UsualReach& reach, const Gpu& gpu);
// "Exchanges are taken to reach 80 % of the links inside nodes and 90 % of the cards ..."
std::string reach_text(const UsualReach& reach);
// "Products are assumed to take 1.19 times as long beside exchanges ...", of a GPU that assumes it.
std::string interference_text();

}  // namespace sgdsim
