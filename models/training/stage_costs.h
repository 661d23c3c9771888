// What one stage of a layout costs a rank, part by part: its passes, its exchanges with replicas,
// its optimizer. Closed form and player put the same parts together.
#pragma once

#include <array>

#include "models/training/layer_times.h"
#include "models/training/memory.h"

namespace sgdsim {

// Exchanges of gradients and weights of a stage, once each, in equal pieces.
struct StageExchange {
  double reduce_s = 0;  // gradients
  double gather_s = 0;  // weights
  double pieces = 1;
};

// Ranks that share parameters, and how many these are; and those of other groups with the same
// shard.
struct Replicas {
  RankGroup group;
  RankGroup copies;
  double parameters = 0;  // that are trained
  double frozen_B = 0;    // bytes of others, which zero3 gathers, too
  bool has_any() const { return parameters > 0 || frozen_B > 0; }
  // Of all weights, as replicas gather them.
  double gathered_B() const { return 2 * parameters + frozen_B; }
};
// Those that share what is not an expert, and those that share experts.
std::array<Replicas, 2> replicas_of(const Layout& layout, const RankParameters& parameters);

// Of a chunk of a rank; at least one.
int64_t pieces_of_chunk(const Layout& layout, const StageExchange& exchange);

// What an activation takes over each boundary between ranks of a pipeline, and gradients back
// (boundary_between).
struct StageSends {
  std::vector<double> seconds = {};
  double slowest_s() const;
  double mean_s() const;
};

class StageCosts {
 public:
  // The layout must fit the model; `groups` has as many GPUs as it.
  StageCosts(const TrainingStep& step, GroupTimes& groups);

  // One micro-batch through a layer, and through what is behind the last one. What its passes wait
  // for is said apart, because it depends on whether the layer is computed again.
  const LayerTimes& layer(LayerKind kind) const { return layers_[kind.index()]; }
  const LayerTimes& head() const { return head_; }
  LayerTimes waits_of(LayerKind kind, bool is_recomputed) const;
  // One micro-batch through some layers.
  LayerTimes times_of(const StageLayers& layers) const;
  // Everything that a rank of the pipeline computes and exchanges inside of its passes.
  PassTimes times_of_rank(int64_t rank) const;

  // Of a rank of the pipeline; its replicas may lie in other nodes than those of others do.
  StageExchange exchange_of(const RankParameters& parameters, int64_t layers, int64_t rank);
  // With dualpipe every stage is held twice; the copies agree on each shard after the replicas
  // have, which with zero0 gather the whole then.
  double copies_s(const RankParameters& parameters, int64_t rank);
  // With offload=optimizer also what gradients need to the host, and weights back.
  double optimizer_s(const RankParameters& parameters, int64_t stage) const;
  // First and last stage agree on the embedding, if they share it and are not one.
  double tied_s();
  double tied_B() const;
  // Bytes of a shard that both copies of a stage agree on.
  double copied_B(const Replicas& replicas) const;
  // From rank to rank; nothing if there is one only.
  StageSends sends();

 private:
  StageExchange exchange_of(const Replicas& replicas, int64_t layers);
  RankGroup at_rank(const RankGroup& group, int64_t rank) const;
  double host_optimizer_s(double own, int64_t stage) const;
  void add_waits(LayerKind kind);

  const TrainingStep& step_;
  GroupTimes& groups_;
  OfKinds<LayerTimes> layers_;
  OfKinds<LayerTimes> again_;  // those that are computed again
  OfKinds<LayerTimes> waits_;  // of passes, for copies to the host and for its launches
  OfKinds<LayerTimes> again_waits_;
  LayerTimes head_;
  double arrival_s_ = 0;  // that parts of an activation cost until all of a group have the whole
};

}  // namespace sgdsim
