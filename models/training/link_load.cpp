// Bytes by group, each over the edges of its group.
#include "models/training/link_load.h"

#include <algorithm>

#include "models/training/exchanges_beside.h"
#include "models/training/expert_exchanges.h"
#include "models/training/modules_again.h"
#include "models/training/pass_order.h"
#include "models/training/sites.h"
#include "models/training/stage_costs.h"
#include "sim/core/cast.h"

namespace sgdsim {
namespace {

GroupTimes::Busy busy_in_layer(const TrainingStep& step, GroupTimes& groups, LayerKind kind,
                               bool is_recomputed) {
  const Layout& layout = step.layout;
  const LayerTraffic traffic = layer_traffic(step, kind, is_recomputed);
  GroupTimes::Busy busy =
      groups.busy_in_ring({1, layout.tensor}, traffic.tensor_forward_B + traffic.tensor_backward_B);
  const RankGroup context{layout.tensor, layout.context};
  const double context_B =
      kind.attends() ? traffic.context_forward_B + traffic.context_backward_B : 0;
  busy += layout.context_by == ContextBy::ulysses ? groups.busy_directly(context, context_B)
                                                  : groups.busy_in_ring(context, context_B);
  if (!kind.has_experts()) return busy;
  const double passes = is_recomputed || exchanges_again(step, kind).visits_experts ? 3 : 2;
  for (const ExpertExchange& one : expert_exchanges(step, groups.per_node()).all)
    busy += one.out == Operation::alltoall ? groups.busy_directly(one.group, passes * one.sent_B())
                                           : groups.busy_in_ring(one.group, passes * one.sent_B());
  return busy;
}

GroupTimes::Busy times(double count, const GroupTimes::Busy& busy) {
  return {count * busy.inside_s, count * busy.across_s};
}

// What a rank sends to other ranks in a step, forward and backward.
GroupTimes::Busy busy_sending(const TrainingStep& step, GroupTimes& groups, int64_t rank) {
  const Layout& layout = step.layout;
  const std::vector<GroupTimes::Busy> once = groups.busy_to_next(
      {layout.gpus() / layout.pipeline, layout.pipeline}, boundary_B(step), goes_around(layout));
  GroupTimes::Busy all;
  for (int64_t chunk = 0; chunk < chunks_of_rank(layout); ++chunk) {
    const WayPosition here = position_of(layout, {rank, chunk});
    for (const int64_t next : {here.position + 1, here.position - 1}) {
      if (next < 0 || next >= way_length(layout)) continue;
      const int64_t other = place_on_way(layout, here.way, next).rank;
      if (other != rank) all += once[boundary_between(rank, other, once.size())];
    }
  }
  return times(real(micro_batches_of_way(layout)), all);
}

}  // namespace

GroupTimes::Busy link_load(const TrainingStep& step, GroupTimes& groups, int64_t stage) {
  const Layout& layout = step.layout;
  const double count = real(layout.micro_batches);
  const StageLayers held = layers_of_stage(step.model, layout, stage);
  GroupTimes::Busy all;
  for (std::size_t i = 0; i < most_kinds; ++i) {
    if (held.kinds[i] == 0) continue;
    const double again = real(held.again[i]);
    all += times(count * (real(held.kinds[i]) - again),
                 busy_in_layer(step, groups, kind_at(i), false));
    all += times(count * again, busy_in_layer(step, groups, kind_at(i), true));
  }
  if (layout.pipeline > 1) all += busy_sending(step, groups, stage);
  for (const DataTraffic& traffic : data_traffic(step, stage)) {
    all += groups.busy_in_ring(traffic.replicas.group, traffic.shared_B);
    all += groups.busy_in_ring(traffic.replicas.copies, traffic.copied_B);
  }
  return all;
}

GroupTimes::Busy link_load(const TrainingStep& step, GroupTimes& groups) {
  GroupTimes::Busy most;
  for (int64_t stage = 0; stage < step.layout.pipeline; ++stage) {
    const GroupTimes::Busy load = link_load(step, groups, stage);
    most = {std::max(most.inside_s, load.inside_s), std::max(most.across_s, load.across_s)};
  }
  return most;
}

void wait_for_links(const TrainingStep& step, GroupTimes& groups, HybridStep& result) {
  if (!groups.algorithms().is_usual()) return;
  const GroupTimes::Busy load = link_load(step, groups);
  const double waits = std::max(load.inside_s, load.across_s) - result.parts.all();
  if (waits <= 0) return;
  result.parts.communication += waits;
  const double seconds = result.parts.all();
  result.time = Duration::nearest_ps(seconds * 1e12);
  set_quality(step, seconds, result);
}

HybridStep step_on_links(const TrainingStep& step, GroupTimes& groups) {
  HybridStep result = hybrid_step(step, groups);
  const StepParts& shown = result.parts;
  const HiddenParts& hidden = result.hidden;
  const double exchanged = shown.tensor + shown.context + shown.expert + shown.sends + shown.data +
                           hidden.context + hidden.expert + hidden.sends + hidden.data;
  const bool fit_in_a_row = exchanged <= shown.all();
  if (!fit_in_a_row) wait_for_links(step, groups, result);
  add_sites(step, result.backward_s, result);
  return result;
}

PlayedStep play_on_links(const TrainingStep& step, GroupTimes& groups, const LayoutPlay& play,
                         bool wants_slices) {
  PlayedStep played = play_step(step, groups, play, wants_slices);
  const Duration alone = played.step.time;
  wait_for_links(step, groups, played.step);
  if (played.step.time > alone)
    for (Duration* time : {&played.fastest, &played.slowest})
      *time = std::max(*time, played.step.time);
  return played;
}

}  // namespace sgdsim
