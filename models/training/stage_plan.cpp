// Layers in the order of the forward pass.
#include "models/training/stage_plan.h"

namespace sgdsim {
namespace {

std::size_t at(int64_t number) { return static_cast<std::size_t>(number); }

PassTimes minus(const PassTimes& times, const PassTimes& other) {
  PassTimes rest = times;
  rest += -1 * other;
  return rest;
}

}  // namespace

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
  const auto add = [&](int64_t count, Kind kind, const LayerTimes& times) {
    items.insert(items.end(), at(count), item_of(kind, times));
  };
  add(layers.dense, Kind::dense, costs_.layer(false));
  add(layers.with_experts, Kind::experts, costs_.layer(true));
  add(layers.has_head ? 1 : 0, Kind::head, costs_.head());
  return items;
}

StagePlan::Item StagePlans::item_of(Kind kind, const LayerTimes& times) const {
  const bool is_recomputed = kind != Kind::head && step_.layout.recompute == Recompute::full;
  return {kind, times.forward,
          is_recomputed ? minus(times.backward, times.forward) : times.backward, is_recomputed};
}

}  // namespace sgdsim
