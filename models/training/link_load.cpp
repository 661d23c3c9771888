// Bytes by group, each over the edges of its group.
#include "models/training/link_load.h"

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
  busy += groups.busy_directly({layout.expert_tensor, layout.expert},
                               traffic.expert_forward_B + traffic.expert_backward_B);
  busy += groups.busy_in_ring({1, layout.expert_tensor},
                              traffic.expert_parts_forward_B + traffic.expert_parts_backward_B);
  return busy;
}

GroupTimes::Busy times(double count, const GroupTimes::Busy& busy) {
  return {count * busy.inside_s, count * busy.across_s};
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
  const double sends = layout.pipeline > 1 ? 2 * count * real(layout.chunks) : 0;
  all += groups.busy_to_next({layout.gpus() / layout.pipeline, layout.pipeline},
                             sends * boundary_B(step));
  for (const DataTraffic& traffic : data_traffic(step, stage)) {
    all += groups.busy_in_ring(traffic.replicas.group, traffic.shared_B);
    all += groups.busy_in_ring(traffic.replicas.copies, traffic.copied_B);
  }
  return all;
}

}  // namespace sgdsim
