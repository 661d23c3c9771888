// Layers are priced once; a stage is so many of them.
#include "models/training/stage_costs.h"

#include <algorithm>
#include <cmath>

#include "models/training/pass_order.h"
#include "sim/core/cast.h"

namespace sgdsim {
namespace {

constexpr double optimizer_B = 30;  // read and written for a parameter: 12 + 4 + 2, and 12 again
constexpr double ddp_bucket_B = 25.0 * 1024 * 1024;
constexpr double least_bucket = 40e6;  // elements, of a distributed optimizer
constexpr double bucket_of_replica = 1e6;

}  // namespace

std::array<Replicas, 2> replicas_of(const Layout& layout, const RankParameters& parameters) {
  const auto replicas = [&](int64_t stride, int64_t size, double count) {
    return Replicas{{stride, size}, {stride * size, layout.shard_copies}, count};
  };
  return {replicas(layout.tensor, layout.shards(), parameters.outside_experts()),
          replicas(layout.expert, layout.expert_shards(), parameters.experts)};
}

int64_t pieces_of_chunk(const Layout& layout, const StageExchange& exchange) {
  const double chunks = real(chunks_of_rank(layout));
  return static_cast<int64_t>(std::max(1.0, std::round(exchange.pieces / chunks)));
}

StageCosts::StageCosts(const TrainingStep& step, GroupTimes& groups)
    : step_(step), groups_(groups), head_(head_times(step)) {
  const OfKinds<int64_t> kinds = step.model.kinds();
  for (std::size_t i = 0; i < most_kinds; ++i) {
    if (kinds[i] == 0) continue;
    layers_[i] = layer_times(step, groups, kind_at(i));
    again_[i] = recomputed(layers_[i]);
  }
  if (step.layout.splits_sends)
    arrival_s_ = groups.all_gather_s({1, step.layout.tensor}, activation_B(step));
}

LayerTimes StageCosts::times_of(const StageLayers& layers) const {
  LayerTimes all;
  auto add = [&](double count, const LayerTimes& times) {
    all.forward += count * times.forward;
    all.backward += count * times.backward;
  };
  for (std::size_t i = 0; i < most_kinds; ++i) {
    if (layers.kinds[i] == 0) continue;
    add(real(layers.kinds[i] - layers.again[i]), layers_[i]);
    add(real(layers.again[i]), again_[i]);
  }
  if (layers.has_head) add(1, head_);
  all.forward.tensor += real(layers.from_before) * arrival_s_;
  all.backward.tensor += real(layers.from_behind) * arrival_s_;
  return all;
}

PassTimes StageCosts::times_of_rank(int64_t rank) const {
  const Layout& layout = step_.layout;
  PassTimes all;
  for (int64_t chunk = 0; chunk < chunks_of_rank(layout); ++chunk) {
    const WayPosition where = position_of(layout, {rank, chunk});
    LayerTimes times = times_of(layers_of_chunk(step_.model, layout, where.position));
    times.forward += times.backward;
    all += real(micro_batches_of_way(layout)) * times.forward;
  }
  return all;
}

StageExchange StageCosts::exchange_of(const Replicas& replicas, int64_t layers) {
  const Layout& layout = step_.layout;
  StageExchange exchange;
  const int64_t all = replicas.group.size * replicas.copies.size;
  if (all <= 1 || replicas.parameters <= 0) return exchange;
  const double gradients_B = replicas.parameters * layout.gradient_B();
  const double size = real(replicas.group.size);
  double pieces = 1;  // without overlapping: no part of a chunk has to go out before the others
  if (layout.zero == 3)
    pieces = real(layers);
  else if (layout.overlaps && layout.zero > 0)
    pieces = std::ceil(replicas.parameters / std::max(least_bucket, bucket_of_replica * size));
  else if (layout.overlaps)
    pieces = std::ceil(gradients_B / ddp_bucket_B);
  exchange.pieces = pieces = std::max(pieces, real(layout.chunks));
  if (layout.zero == 0) {
    exchange.reduce_s = pieces * groups_.all_reduce_s(replicas.group, gradients_B / pieces);
  } else {
    exchange.reduce_s = pieces * groups_.reduce_scatter_s(replicas.group, gradients_B / pieces);
    exchange.reduce_s +=
        pieces * groups_.all_reduce_s(replicas.copies, gradients_B / (pieces * size));
    exchange.gather_s =
        pieces * groups_.all_gather_s(replicas.group, 2 * replicas.parameters / pieces);
  }
  return exchange;
}

StageExchange StageCosts::exchange_of(const RankParameters& parameters, int64_t layers) {
  StageExchange all;
  for (const Replicas& replicas : replicas_of(step_.layout, parameters)) {
    const StageExchange one = exchange_of(replicas, layers);
    all.reduce_s += one.reduce_s;
    all.gather_s += one.gather_s;
    all.pieces = std::max(all.pieces, one.pieces);
  }
  return all;
}

double StageCosts::copies_s(const RankParameters& parameters) {
  const Layout& layout = step_.layout;
  if (layout.schedule != PipelineSchedule::dualpipe) return 0;
  double seconds = 0;
  for (const Replicas& replicas : replicas_of(layout, parameters))
    seconds += groups_.all_reduce_s({layout.gpus() / layout.pipeline, 2}, copied_B(replicas));
  return seconds;
}

double StageCosts::copied_B(const Replicas& replicas) const {
  return replicas.parameters * step_.layout.gradient_B() /
         (step_.layout.zero > 0 ? real(replicas.group.size) : 1);
}

double StageCosts::optimizer_s(const RankParameters& parameters) const {
  const Layout& layout = step_.layout;
  const bool is_sharded = layout.zero > 0;
  const double own = parameters.outside_experts() / (is_sharded ? real(layout.shards()) : 1) +
                     parameters.experts / (is_sharded ? real(layout.expert_shards()) : 1);
  return step_.gpu.bytes_s(optimizer_B * own);
}

double StageCosts::tied_s() {
  const Layout& layout = step_.layout;
  const int64_t stage = layout.gpus() / layout.pipeline;
  return groups_.all_reduce_s({stage * (layout.pipeline - 1), 2}, tied_B());
}

double StageCosts::tied_B() const {
  const Layout& layout = step_.layout;
  const bool are_together = layout.pipeline == 1 || layout.schedule == PipelineSchedule::zbv;
  if (!step_.model.tied || are_together) return 0;
  return real(step_.model.vocabulary) * real(step_.model.hidden) / real(layout.tensor) *
         layout.gradient_B();
}

double StageCosts::send_s() {
  const Layout& layout = step_.layout;
  if (layout.pipeline == 1) return 0;
  return groups_.send_s({layout.gpus() / layout.pipeline, layout.pipeline}, boundary_B(step_));
}

}  // namespace sgdsim
