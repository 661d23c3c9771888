// Layers are priced once; a stage is so many of them.
#include "models/training/stage_costs.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <tuple>

#include "models/training/exchanges_beside.h"
#include "models/training/pass_order.h"
#include "sim/core/cast.h"

namespace sgdsim {
namespace {

constexpr double optimizer_B = 30;  // read and written for a parameter: 12 + 4 + 2, and 12 again
constexpr double ddp_bucket_B = 25.0 * 1024 * 1024;
constexpr double least_bucket = 40e6;  // elements, of a distributed optimizer
constexpr double bucket_of_replica = 1e6;

// Whether passes wait for the host at all.
bool waits(const Layout& layout) {
  return layout.host_launches || layout.offload.moves_activations();
}

// Of a pass in which so many seconds are copied: what does not lie under it.
void add_copies(PassTimes& waits, const PassTimes& pass, double copied_s) {
  const double exposed = std::max(0.0, copied_s - pass.all());
  waits.offload += exposed;
  waits.hidden_offload += copied_s - exposed;
}

// What the host needs for its kernels beyond what the GPU needs.
void add_launch(const TrainingStep& step, double kernels, const PassTimes& pass, PassTimes& waits) {
  waits.host += std::max(0.0, kernels * step.gpu.launch.s() - pass.all());
}
void add_launches(const TrainingStep& step, const LayerKernels& kernels, LayerTimes& times) {
  const LayerTimes before = times;
  add_launch(step, kernels.forward, before.forward, times.forward);
  add_launch(step, kernels.backward, before.backward, times.backward);
}

}  // namespace

std::array<Replicas, 2> replicas_of(const Layout& layout, const RankParameters& parameters) {
  const TrainedParts parts = trained_parts(layout, parameters);
  const bool gathers_all = layout.zero == 3;
  const auto replicas = [&](int64_t stride, int64_t size, double count, double frozen_B) {
    return Replicas{
        {stride, size}, {stride * size, layout.shard_copies}, count, gathers_all ? frozen_B : 0};
  };
  return {replicas(layout.tensor, layout.shards(), parts.common, parts.common_frozen_B),
          replicas(layout.expert_ranks(), layout.expert_shards(), parts.experts,
                   parts.experts_frozen_B)};
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
    add_waits(kind_at(i));
  }
  if (step.layout.host_launches) add_launches(step, head_kernels(step), head_);
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
    if (!waits(step_.layout)) continue;
    add(real(layers.kinds[i] - layers.again[i]), waits_[i]);
    add(real(layers.again[i]), again_waits_[i]);
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

LayerTimes StageCosts::waits_of(LayerKind kind, bool is_recomputed) const {
  return is_recomputed ? again_waits_[kind.index()] : waits_[kind.index()];
}

// Of each layer: copies lie under the pass that makes or needs them, and the host launches while
// the GPU computes.
void StageCosts::add_waits(LayerKind kind) {
  const Layout& layout = step_.layout;
  const std::size_t i = kind.index();
  if (layout.offload.moves_activations()) {
    const double part = layout.offload.part() / step_.gpu.host_share().link.Bps();
    const double unit = layout.recompute == Recompute::uniform ? real(layout.recompute_layers) : 1;
    const double copied = part * layer_activations_B(step_.model, layout, step_.sequence, kind);
    const double input = part * layer_inputs_B(step_.model, layout, step_.sequence) / unit;
    for (const auto& [waits, pass, seconds] :
         {std::tuple{&waits_[i], &layers_[i], copied}, {&again_waits_[i], &again_[i], input}}) {
      add_copies(waits->forward, pass->forward, seconds);
      add_copies(waits->backward, pass->backward, seconds);
    }
  }
  if (!layout.host_launches) return;
  const LayerKernels kernels = layer_kernels(step_, kind);
  const auto add = [&](const LayerTimes& times, double backward, LayerTimes& waits) {
    LayerTimes all = times;
    all.forward += waits.forward;
    all.backward += waits.backward;
    add_launch(step_, kernels.forward, all.forward, waits.forward);
    add_launch(step_, backward, all.backward, waits.backward);
  };
  add(layers_[i], kernels.backward, waits_[i]);
  add(again_[i], kernels.forward + kernels.backward, again_waits_[i]);
}

StageExchange StageCosts::exchange_of(const Replicas& replicas, int64_t layers) {
  const Layout& layout = step_.layout;
  StageExchange exchange;
  const int64_t all = replicas.group.size * replicas.copies.size;
  if (all <= 1 || !replicas.has_any()) return exchange;
  const double gradients_B = replicas.parameters * layout.gradient_B();
  const double size = real(replicas.group.size);
  double pieces = 1;  // without overlapping: no part of a chunk has to go out before the others
  if (layout.zero >= 2)
    pieces = real(layers);
  else if (layout.overlaps && layout.zero > 0)
    pieces = std::ceil(replicas.parameters / std::max(least_bucket, bucket_of_replica * size));
  else if (layout.overlaps)
    pieces = std::ceil(gradients_B / ddp_bucket_B);
  exchange.pieces = pieces = std::max(pieces, real(layout.chunks));
  if (!layout.reduces_to_shards()) {
    exchange.reduce_s = pieces * groups_.all_reduce_s(replicas.group, gradients_B / pieces);
    return exchange;
  }
  exchange.reduce_s = pieces * groups_.reduce_scatter_s(replicas.group, gradients_B / pieces);
  exchange.reduce_s +=
      pieces * groups_.all_reduce_s(replicas.copies, gradients_B / (pieces * size));
  if (layout.zero > 0)
    exchange.gather_s =
        pieces * groups_.all_gather_s(replicas.group, replicas.gathered_B() / pieces);
  return exchange;
}

// Where stages do not begin with nodes, what lies within a node and what across differs from rank
// to rank; else all are alike.
RankGroup StageCosts::at_rank(const RankGroup& group, int64_t rank) const {
  const int64_t of_rank = step_.layout.gpus() / step_.layout.pipeline;
  const int64_t of_node = groups_.per_node();
  if (step_.layout.pipeline == 1 || of_rank % of_node == 0 || of_node % of_rank == 0) return group;
  return {group.stride, group.size, rank * of_rank, of_rank, true};
}

StageExchange StageCosts::exchange_of(const RankParameters& parameters, int64_t layers,
                                      int64_t rank) {
  StageExchange all;
  for (Replicas& replicas : replicas_of(step_.layout, parameters)) {
    replicas.group = at_rank(replicas.group, rank);
    replicas.copies = at_rank(replicas.copies, rank);
    const StageExchange one = exchange_of(replicas, layers);
    all.reduce_s += one.reduce_s;
    all.gather_s += one.gather_s;
    all.pieces = std::max(all.pieces, one.pieces);
  }
  return all;
}

// With dualpipe ranks r and p - 1 - r of the pipeline have the same stages.
double StageCosts::copies_s(const RankParameters& parameters, int64_t rank) {
  const Layout& layout = step_.layout;
  if (layout.schedule != PipelineSchedule::dualpipe) return 0;
  const int64_t of_rank = layout.gpus() / layout.pipeline;
  const int64_t near = std::min(rank, layout.pipeline - 1 - rank);
  const int64_t apart = layout.pipeline - 1 - 2 * near;
  double seconds = 0;
  for (const Replicas& replicas : replicas_of(layout, parameters)) {
    seconds +=
        groups_.all_reduce_s({apart * of_rank, 2, near * of_rank, of_rank}, copied_B(replicas));
    if (layout.zero == 0)
      seconds += groups_.all_gather_s(at_rank(replicas.group, rank),
                                      replicas.parameters * layout.gradient_B());
  }
  return seconds;
}

double StageCosts::copied_B(const Replicas& replicas) const {
  return replicas.parameters * step_.layout.gradient_B() / real(replicas.group.size);
}

double StageCosts::optimizer_s(const RankParameters& parameters, int64_t stage) const {
  const Layout& layout = step_.layout;
  const bool is_sharded = layout.zero > 0;
  const TrainedParts parts = trained_parts(layout, parameters);
  const double own = parts.common / (is_sharded ? real(layout.shards()) : 1) +
                     parts.experts / (is_sharded ? real(layout.expert_shards()) : 1);
  if (layout.offload.moves_optimizer()) return host_optimizer_s(own, stage);
  return step_.gpu.bytes_s(optimizer_B * own);
}

// Gradients go to the host under the last backward pass; it updates what it has, and weights come
// back meanwhile, part by part (arXiv 2101.06840, section 4.2).
double StageCosts::host_optimizer_s(double own, int64_t stage) const {
  const HostShare& host = step_.gpu.host_share();
  const double out = own * step_.layout.gradient_B() / host.link.Bps();
  const double back = own * bytes_per_value / host.link.Bps();
  const double update = own * optimizer_B / host.memory_rate.Bps();
  const double under = times_of(layers_of_stage(step_.model, step_.layout, stage)).backward.all();
  return std::max(0.0, out - under) + std::max(update, back);
}

double StageCosts::tied_s() {
  const Layout& layout = step_.layout;
  const int64_t stage = layout.gpus() / layout.pipeline;
  return groups_.all_reduce_s({stage * (layout.pipeline - 1), 2}, tied_B());
}

double StageCosts::tied_B() const {
  const Layout& layout = step_.layout;
  const bool are_together = layout.pipeline == 1 || layout.schedule == PipelineSchedule::zbv;
  const bool is_shared = step_.model.tied || predictions_of(step_.model, layout) > 0;
  if (!is_shared || are_together || layout.lora.is_used()) return 0;
  return real(step_.model.vocabulary) * real(step_.model.hidden) / real(layout.tensor) *
         layout.gradient_B();
}

double StageSends::slowest_s() const {
  return seconds.empty() ? 0 : *std::max_element(seconds.begin(), seconds.end());
}

double StageSends::mean_s() const {
  const double sum = std::accumulate(seconds.begin(), seconds.end(), 0.0);
  return seconds.empty() ? 0 : sum / real(static_cast<int64_t>(seconds.size()));
}

StageSends StageCosts::sends() {
  const Layout& layout = step_.layout;
  return {groups_.sends_s({layout.gpus() / layout.pipeline, layout.pipeline}, boundary_B(step_),
                          goes_around(layout))};
}

}  // namespace sgdsim
