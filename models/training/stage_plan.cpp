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
    plan.chunks.push_back(items_of(position_of(layout, {number, chunk}).position));
  plan.slots = pass_order(layout, number);
  for (std::size_t i = 0; i < plan.slots.size(); ++i)
    if (plan.slots[i].fetches(layout.keeps_weights) > 0) plan.last_fetch = i;
  const RankParameters parameters = rank_parameters(step_.model, layout, number);
  plan.replicas = replicas_of(layout, parameters);
  const int64_t layers =
      exchanged_layers(step_.model, layout, number, layers_of_stage(step_.model, layout, number));
  plan.pieces = pieces_of_chunk(layout, costs_.exchange_of(parameters, layers, number));
  plan.tied_B = costs_.tied_B();
  if (layout.schedule == PipelineSchedule::dualpipe)
    for (const Replicas& replicas : plan.replicas)
      plan.copies_B.push_back(costs_.copied_B(replicas));
  plan.optimizer_s = costs_.optimizer_s(parameters, number);
  return plan;
}

std::vector<StagePlan::Item> StagePlans::items_of(int64_t position) const {
  std::vector<StagePlan::Item> items;
  const ChunkLayers layers = chunk_layers(step_.model, step_.layout, position);
  const auto add = [&](LayerKind kind, bool is_recomputed) {
    const LayerTimes& times = costs_.layer(kind);
    const LayerTimes waits = costs_.waits_of(kind, is_recomputed);
    items.push_back({.kind = kind,
                     .forward = times.forward,
                     .backward = times.backward,
                     .is_recomputed = is_recomputed,
                     .forward_wait_s = waits.forward.waits(),
                     .backward_wait_s = waits.backward.waits()});
  };
  for (int64_t number = layers.from; number < layers.to; ++number)
    add(step_.model.layer(number), number < layers.again);
  if (position + 1 < step_.layout.chunks_in_all()) return items;
  for (int64_t i = 0; i < predictions_of(step_.model, step_.layout); ++i)
    add(step_.model.layer(step_.model.layers - 1), computes_predictions_again(step_.layout));
  const LayerTimes& head = costs_.head();
  items.push_back({.is_head = true,
                   .kind = {},
                   .forward = head.forward,
                   .backward = head.backward,
                   .forward_wait_s = head.forward.waits(),
                   .backward_wait_s = head.backward.waits()});
  return items;
}

}  // namespace sgdsim
