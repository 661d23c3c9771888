// Layers in the order of the forward pass.
#include "models/training/stage_plan.h"

#include "sim/core/cast.h"

namespace sgdsim {

StagePlans::StagePlans(const TrainingStep& step, GroupTimes& groups)
    : step_(step), costs_(step, groups) {}

StagePlan StagePlans::stage(int64_t number) {
  const Layout& layout = step_.layout;
  StagePlan plan;
  for (int64_t chunk = 0; chunk < chunks_of_rank(layout); ++chunk)
    plan.chunks.push_back(items_of(
        layers_of_chunk(step_.model, layout, position_of(layout, {number, chunk}).position)));
  plan.slots = pass_order(layout, number);
  for (std::size_t i = 0; i < plan.slots.size(); ++i)
    if (plan.slots[i].fetches(layout.keeps_weights) > 0) plan.last_fetch = i;
  plan.parameters = rank_parameters(step_.model, layout, number);
  plan.pieces = pieces_of_chunk(
      layout,
      costs_.exchange_of(plan.parameters, layers_of_stage(step_.model, layout, number).layers()));
  plan.tied_B = costs_.tied_B();
  if (layout.schedule == PipelineSchedule::dualpipe)
    for (const Replicas& replicas : replicas_of(layout, plan.parameters))
      plan.copies_B.push_back(costs_.copied_B(replicas));
  plan.optimizer_s = costs_.optimizer_s(plan.parameters);
  return plan;
}

std::vector<StagePlan::Item> StagePlans::items_of(const StageLayers& layers) const {
  std::vector<StagePlan::Item> items;
  const auto add = [&](int64_t count, Kind kind, const LayerTimes& times, bool is_recomputed) {
    items.insert(items.end(), at(count), {kind, times.forward, times.backward, is_recomputed});
  };
  for (const bool has_experts : {false, true}) {
    const Kind kind = has_experts ? Kind::experts : Kind::dense;
    const int64_t again = layers.count_again(has_experts);
    add(again, kind, costs_.layer(has_experts), true);
    add(layers.count(has_experts) - again, kind, costs_.layer(has_experts), false);
  }
  add(layers.has_head ? 1 : 0, Kind::head, costs_.head(), false);
  return items;
}

}  // namespace sgdsim
