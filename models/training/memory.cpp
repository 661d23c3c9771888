// Sources of the formulas: arXiv 1910.02054 (states by ZeRO stage), Megatron-LM (bytes of a
// parameter, orders of passes); activations.cpp has those of what layers keep.
#include "models/training/memory.h"

#include <algorithm>
#include <optional>

#include "models/training/layer_matrices.h"
#include "models/training/pass_order.h"
#include "sim/core/cast.h"

namespace sgdsim {
namespace {

constexpr double bytes_per_weight = 2;

// Forward passes of chunks before the first backward pass, the one that follows included.
int64_t most_in_flight(const Layout& layout, int64_t stage) {
  const int64_t micro_batches = layout.micro_batches;
  switch (layout.schedule) {
    case PipelineSchedule::one_f_one_b:
      return std::min(forwards_ahead(layout, stage) + 1, micro_batches * layout.chunks);
    case PipelineSchedule::zb1p:  // gradients of weights stay back by the number of the stage
      return std::min(micro_batches, layout.pipeline);
    case PipelineSchedule::gpipe:
      return micro_batches;
    case PipelineSchedule::dualpipe:
      return layout.pipeline + 1;
    case PipelineSchedule::zbv:  // on every stage
      return 2 * layout.pipeline;
  }
  return 0;
}

// `passes`: forward passes until then.
void set_moment(const Layout& layout, int64_t passes, StageMemory& memory) {
  const int64_t last = passes - 1;
  const int64_t p = layout.pipeline;
  if (layout.chunks == 1) {
    memory.micro_batch = last;
    return;
  }
  if (layout.schedule == PipelineSchedule::zbv) {  // the first that comes back and stays
    memory.chunk = 1;
    memory.micro_batch = memory.stage;
    return;
  }
  const int64_t round = p * layout.chunks;
  memory.chunk = last % round / p;
  memory.micro_batch = last / round * p + last % p;
}

// Of so many forward passes of a rank, those of the first chunk.
int64_t first_chunks_of(const Layout& layout, int64_t passes) {
  if (layout.chunks == 1) return passes;
  if (layout.schedule == PipelineSchedule::zbv) return std::min(passes, layout.micro_batches);
  const int64_t round = layout.pipeline * layout.chunks;
  return passes / round * layout.pipeline + std::min(passes % round, layout.pipeline);
}

// With virtual stages the first backward passes are of the last chunk, and the forward pass behind
// the first one of the rank that embeds is one more of the first chunk, whose output of the
// embedding stays.
int64_t forwards_until_peak(const Layout& layout, const StageLayers& held, int64_t in_flight) {
  const bool is_interleaved = layout.chunks > 1 && layout.schedule == PipelineSchedule::one_f_one_b;
  const bool goes_on = in_flight < layout.micro_batches * layout.chunks;
  return in_flight + (held.embeds && is_interleaved && goes_on ? 1 : 0);
}

// Where chunks of a rank are unlike: forward passes in flight, chunk by chunk, at the moments that
// can be the peak. `f` takes them, and the chunk and micro-batch whose forward pass ends then.
template <class F>
void for_each_moment(const Layout& layout, int64_t stage, const F& f) {
  const int64_t p = layout.pipeline;
  if (layout.schedule == PipelineSchedule::dualpipe) {
    // Of the way that begins at this rank's half, as many as there are ranks behind it.
    const int64_t depth = std::min(stage, p - 1 - stage);
    std::vector<int64_t> counts = {p - depth, depth + 1};
    if (stage >= p / 2) std::swap(counts.front(), counts.back());
    return f(counts, 0, p);
  }
  if (layout.schedule == PipelineSchedule::zbv) {
    // The first that comes back and stays; then the next one that goes out takes its place.
    const int64_t out = 2 * p - 1 - stage;
    f(std::vector<int64_t>{out, stage + 1}, 1, stage);
    if (layout.micro_batches > out) f(std::vector<int64_t>{out + 1, stage}, 0, out);
    return;
  }
  const int64_t round = p * layout.chunks;
  const int64_t all = layout.micro_batches * layout.chunks;
  const int64_t ahead = forwards_ahead(layout, stage);
  const auto done = [&](int64_t passes, int64_t chunk) {
    return passes / round * p + std::clamp<int64_t>(passes % round - chunk * p, 0, p);
  };
  std::vector<int64_t> counts(at(layout.chunks));
  // Forward and backward passes take turns; what is in flight changes evenly until one of them goes
  // on to another chunk, and repeats after a round.
  for (int64_t backwards = 0; backwards <= std::min(all - ahead, round); ++backwards) {
    const int64_t forwards = std::min(ahead + backwards + 1, all);
    if (backwards > 0 && backwards % p != 0 && forwards % p != 0) continue;
    for (int64_t chunk = 0; chunk < layout.chunks; ++chunk)
      counts[at(chunk)] = done(forwards, chunk) - done(backwards, layout.chunks - 1 - chunk);
    f(counts, (forwards - 1) % round / p, (forwards - 1) / round * p + (forwards - 1) % p);
  }
}

RankParameters sum(const RankParameters& a, const RankParameters& b) {
  return {a.matrices + b.matrices, a.experts + b.experts,   a.small + b.small,
          a.ends + b.ends,         a.adapters + b.adapters, a.expert_adapters + b.expert_adapters};
}

RankParameters parameters_of_stage(const Transformer& model, const Layout& layout,
                                   const StageLayers& held) {
  RankParameters all;
  for (std::size_t i = 0; i < most_kinds; ++i) {
    if (held.kinds[i] == 0) continue;
    const RankParameters one = rank_layer_parameters(model, layout, kind_at(i));
    all.matrices += real(held.kinds[i]) * one.matrices;
    all.experts += real(held.kinds[i]) * one.experts;
    all.small += real(held.kinds[i]) * one.small;
    all.adapters += real(held.kinds[i]) * one.adapters;
    all.expert_adapters += real(held.kinds[i]) * one.expert_adapters;
  }
  const ParameterCount count = end_parameters(model);
  const double t = real(layout.tensor);
  if (held.has_head) {
    const double predictions = real(predictions_of(model, layout));
    const double h = real(model.hidden);
    all.matrices += predictions * 2 * h * h / t;
    all.small += predictions * 3 * real(model.norm_parameters());
  }
  if (held.embeds) all.ends += real(count.embedding) / t + real(count.positions);
  if (held.embeds && model.embedding_norm) all.ends += real(model.norm_parameters());
  if (held.has_head) {
    all.ends += real(model.norm_parameters());
    // A tied one is the embedding, unless that lies on another stage.
    if (!model.tied) all.ends += real(count.head) / t;
    const bool needs_embedding = model.tied || predictions_of(model, layout) > 0;
    if (needs_embedding && !held.embeds) all.ends += real(count.embedding) / t;
    if (model.tied) all.ends += real(count.head) / t;  // its bias
  }
  return all;
}

// With DualPipe a GPU holds the opposite stage, too.
std::optional<StageLayers> opposite_layers(const Transformer& model, const Layout& layout,
                                           int64_t stage) {
  if (layout.schedule != PipelineSchedule::dualpipe) return std::nullopt;
  return layers_of_stage(model, layout, layout.pipeline - 1 - stage);
}

// Each stage has copies of its own, so that a head and the embedding it is tied to count twice.
RankParameters parameters_of_stages(const Transformer& model, const Layout& layout,
                                    const StageLayers& own,
                                    const std::optional<StageLayers>& other) {
  const RankParameters parameters = parameters_of_stage(model, layout, own);
  return other ? sum(parameters, parameters_of_stage(model, layout, *other)) : parameters;
}

// A rank alone shares nothing with others, whatever zero says.
bool has_shards(const Transformer& model, const Layout& layout) {
  return layout.shards() > 1 || (model.experts && layout.expert_shards() > 1);
}

// A product that adds to the gradients which are kept hands autograd a tensor of the weight's shape
// that nobody reads. There is one of each shape (Transformer Engine's dummy gradients).
double placeholders_B(const Transformer& model, const Layout& layout, const StageLayers& held) {
  const bool shares_gradients = layout.zero >= 2 && has_shards(model, layout);
  if (layout.adds_apart || shares_gradients || layout.lora.is_used()) return 0;
  double mixing = 0;
  double dense = 0;
  double experts = 0;
  for (std::size_t i = 0; i < most_kinds; ++i) {
    if (held.kinds[i] == 0) continue;
    const LayerParameters layer = layer_parameters(model, kind_at(i));
    mixing = std::max(mixing, rank_mixing_matrices(model, layout, kind_at(i)));
    if (kind_at(i).mlp == Mlp::dense) dense = real(layer.mlp_matrices);
    if (kind_at(i).has_experts())  // of which all have the same shapes
      experts = real(layer.mlp_matrices) / real(layout.tensor) +
                real(layer.experts) / real(model.experts->count * layout.expert_tensor);
  }
  return bytes_per_weight * (mixing + dense / real(layout.tensor) + experts);
}

// What one kind of layer needs while it is whole: this layer's weights and the next one's with
// zero3, and its gradients.
double gathered_B(const Layout& layout, const TrainedParts& parts) {
  const double trained_B = layout.zero == 3 ? 2 * 2 : 0;
  return parts.all() * (trained_B + layout.gradient_B()) +
         (layout.zero == 3 ? 2 * parts.all_frozen_B() : 0);
}

// Frozen weights of fewer bits become BF16 one matrix after the other.
double widened_B(const Transformer& model, const Layout& layout, const StageLayers& held) {
  if (layout.lora.frozen == FrozenFormat::bf16) return 0;
  double most = 0;
  for (std::size_t i = 0; i < most_kinds; ++i)
    if (held.kinds[i] > 0)
      for (const RankMatrix& matrix : RankMatrices(model, layout, kind_at(i)))
        most = std::max(most, matrix.groups * matrix.inner * matrix.columns);
  return bytes_per_weight * most;
}

// The larger of embedding and head of a stage, whole, with its gradients where it is trained.
double whole_end_B(const Transformer& model, const Layout& layout, const StageLayers& held) {
  const ParameterCount count = end_parameters(model);
  const int64_t head = held.has_head ? (model.tied ? count.embedding : count.head) : 0;
  const int64_t embedding = held.embeds ? count.embedding : 0;
  const double weight_B = layout.zero == 3 && !layout.keeps_weights ? bytes_per_weight : 0;
  const double gradient_B = layout.lora.is_used() ? 0 : layout.gradient_B();
  return (weight_B + gradient_B) * real(std::max(head, embedding)) / real(layout.tensor);
}

void add_states(const Transformer& model, const Layout& layout, const StageLayers& held,
                StageMemory& memory) {
  const TrainedParts parts = trained_parts(layout, memory.parameters);
  const StateBytes bytes = state_bytes(layout, layout.shards());
  const StateBytes of_experts = state_bytes(layout, layout.expert_shards());
  memory.weights_B = bytes.weights * parts.common + of_experts.weights * parts.experts;
  memory.weights_B +=
      (bytes.weights * parts.common_frozen_B + of_experts.weights * parts.experts_frozen_B) /
      bytes_per_weight;
  memory.gradients_B = bytes.gradients * parts.common + of_experts.gradients * parts.experts;
  memory.placeholders_B = placeholders_B(model, layout, held);
  const double optimizer_B = bytes.optimizer * parts.common + of_experts.optimizer * parts.experts;
  (layout.offload.moves_optimizer() ? memory.host_B : memory.optimizer_B) += optimizer_B;
  memory.gathered_B = widened_B(model, layout, held);
  if (layout.zero < 2 || !has_shards(model, layout)) return;
  if (layout.keeps_weights) {
    double trained = 0;
    for (std::size_t i = 0; i < most_kinds; ++i)
      if (held.kinds[i] > 0)
        trained = std::max(
            trained, trained_parts(layout, rank_layer_parameters(model, layout, kind_at(i))).all());
    // From its forward to its backward pass every layer's weights are whole, beside the shards.
    memory.gathered_B += std::max(trained * layout.gradient_B(), whole_end_B(model, layout, held)) +
                         2 * parts.all() + parts.all_frozen_B();
    return;
  }
  double layer_B = 0;
  for (std::size_t i = 0; i < most_kinds; ++i)
    if (held.kinds[i] > 0)
      layer_B = std::max(
          layer_B, gathered_B(layout, trained_parts(layout, rank_layer_parameters(model, layout,
                                                                                  kind_at(i)))));
  memory.gathered_B = std::max(memory.gathered_B + layer_B, whole_end_B(model, layout, held));
}

// Of one micro-batch, what the layers keep.
double kept_by_layers_B(const Transformer& model, const Layout& layout, int64_t sequence,
                        const StageLayers& held) {
  double all_B = real(held.kept_inputs) * layer_inputs_B(model, layout, sequence);
  // Two inputs of a prediction, and both once more behind their norms, side by side.
  if (held.predictions > 0)
    all_B += 4 * real(held.predictions) * layer_inputs_B(model, layout, sequence);
  for (std::size_t i = 0; i < most_kinds; ++i)
    if (held.kinds[i] > 0)
      all_B += real(held.kinds[i] - held.again[i]) *
               layer_activations_B(model, layout, sequence, kind_at(i));
  return all_B;
}

StageLayers layers_of_place(const Transformer& model, const Layout& layout, PassPlace place) {
  return layers_of_chunk(model, layout, position_of(layout, place).position);
}

// Layers that are computed again at once; a short chunk has no whole unit.
int64_t recomputed_unit(const Transformer& model, const Layout& layout, int64_t stage) {
  if (layout.recompute != Recompute::uniform) return 1;
  if (layout.stages.are_even()) return layout.recompute_layers;
  int64_t longest = 0;
  for (int64_t chunk = 0; chunk < chunks_of_rank(layout); ++chunk)
    longest = std::max(longest, layers_of_place(model, layout, {stage, chunk}).layers());
  return std::min(layout.recompute_layers, longest);
}

// While it is computed again, a layer or unit is as if nothing were.
double recomputed_B(const Transformer& model, const Layout& layout, int64_t sequence, int64_t stage,
                    const StageLayers& held) {
  double most_B = 0;
  if (layout.recompute == Recompute::none) return most_B;
  const int64_t unit = recomputed_unit(model, layout, stage);
  for (std::size_t i = 0; i < most_kinds; ++i) {
    if (held.kinds[i] == 0) continue;
    const LayerKind kind = kind_at(i);
    if (held.again[i] > 0)
      most_B = std::max(most_B, real(unit) * layer_activations_B(model, layout, sequence, kind) -
                                    layer_inputs_B(model, layout, sequence));
    most_B = std::max(most_B, layer_again_B(model, layout, sequence, kind));
  }
  return most_B;
}

// All that is in flight, of a rank whose chunks are alike.
void add_alike_chunks(const Transformer& model, const Layout& layout, int64_t sequence,
                      const StageLayers& held, double stages, StageMemory& memory) {
  memory.in_flight = most_in_flight(layout, memory.stage);
  const int64_t passes = forwards_until_peak(layout, held, memory.in_flight);
  set_moment(layout, passes, memory);
  memory.activations_B = real(memory.in_flight) * kept_by_layers_B(model, layout, sequence, held) /
                         (stages * real(layout.chunks));
  if (held.embeds)
    memory.ends_B +=
        real(first_chunks_of(layout, passes)) * layer_inputs_B(model, layout, sequence) / stages;
}

// And of one whose chunks are not.
void add_unlike_chunks(const Transformer& model, const Layout& layout, int64_t sequence,
                       StageMemory& memory) {
  std::vector<double> layers_B;
  std::vector<double> ends_B;
  for (int64_t chunk = 0; chunk < chunks_of_rank(layout); ++chunk) {
    const StageLayers held = layers_of_place(model, layout, {memory.stage, chunk});
    layers_B.push_back(kept_by_layers_B(model, layout, sequence, held));
    ends_B.push_back(held.embeds ? layer_inputs_B(model, layout, sequence) : 0);
  }
  double most_B = -1;
  for_each_moment(layout, memory.stage,
                  [&](const std::vector<int64_t>& counts, int64_t chunk, int64_t micro_batch) {
                    double of_layers_B = 0;
                    double of_ends_B = 0;
                    int64_t in_flight = 0;
                    for (std::size_t i = 0; i < counts.size(); ++i) {
                      of_layers_B += real(counts[i]) * layers_B[i];
                      of_ends_B += real(counts[i]) * ends_B[i];
                      in_flight += counts[i];
                    }
                    if (of_layers_B + of_ends_B <= most_B) return;
                    most_B = of_layers_B + of_ends_B;
                    memory.activations_B = of_layers_B;
                    memory.ends_B = of_ends_B;
                    memory.in_flight = in_flight;
                    memory.chunk = chunk;
                    memory.micro_batch = micro_batch;
                  });
}

// What the host keeps leaves room, but for two layers: one that is computed and one that is copied.
void move_activations(const Transformer& model, const Layout& layout, int64_t sequence,
                      const StageLayers& held, StageMemory& memory) {
  double layer_B = 0;
  for (std::size_t i = 0; i < most_kinds; ++i) {
    if (held.kinds[i] > held.again[i])
      layer_B = std::max(layer_B, layer_activations_B(model, layout, sequence, kind_at(i)));
    if (held.again[i] > 0) layer_B = std::max(layer_B, layer_inputs_B(model, layout, sequence));
  }
  const double part = layout.offload.part();
  const double moved_B = part * std::max(0.0, memory.activations_B - 2 * layer_B);
  memory.activations_B -= moved_B;
  memory.host_B += moved_B;
}

}  // namespace

RankParameters rank_layer_parameters(const Transformer& model, const Layout& layout,
                                     LayerKind kind) {
  const LayerParameters layer = layer_parameters(model, kind);
  RankParameters all{
      .matrices = rank_mixing_matrices(model, layout, kind) +
                  real(layer.mlp_matrices) / real(layout.tensor),
      .experts = real(layer.experts + layer.expert_biases) / real(layout.expert_ranks()),
      .small = real(layer.router + layer.mixing.biases + layer.mlp_biases + layer.norms +
                    layer.mixing.norms),
      .ends = 0};
  if (!layout.lora.is_used()) return all;
  for (const RankMatrix& matrix : RankMatrices(model, layout, kind))
    (matrix.of == MatrixOf::experts ? all.expert_adapters : all.adapters) +=
        adapter_parameters(layout, matrix);
  return all;
}

TrainedParts trained_parts(const Layout& layout, const RankParameters& parameters) {
  if (!layout.lora.is_used())
    return {.common = parameters.outside_experts(), .experts = parameters.experts};
  const double matrix_B = frozen_B(layout.lora.frozen);
  return {.common = parameters.adapters,
          .experts = parameters.expert_adapters,
          .common_frozen_B = matrix_B * parameters.matrices +
                             bytes_per_weight * (parameters.small + parameters.ends),
          .experts_frozen_B = matrix_B * parameters.experts};
}

RankParameters rank_parameters(const Transformer& model, const Layout& layout, int64_t stage) {
  return parameters_of_stages(model, layout, layers_of_stage(model, layout, stage),
                              opposite_layers(model, layout, stage));
}

StateBytes state_bytes(const Layout& layout, int64_t shards) {
  StateBytes bytes;
  if (layout.half_gradients) bytes.gradients = 2;
  const double part = 1 / real(shards);
  if (layout.zero >= 1) bytes.optimizer *= part;
  if (layout.zero >= 2) bytes.gradients *= part;
  if (layout.zero >= 3) bytes.weights *= part;
  return bytes;
}

double own_parameters(const Transformer& model, const Layout& layout, int64_t stage) {
  const TrainedParts parts = trained_parts(layout, rank_parameters(model, layout, stage));
  const double stages = layout.schedule == PipelineSchedule::dualpipe ? 2 : 1;  // have it as well
  const double holders = real(layout.context * layout.replicas) * stages;
  const double of_experts = holders * real(layout.tensor) / real(layout.expert_ranks());
  return parts.common / holders + parts.experts / of_experts;
}

double saved_B(const Transformer& model, const Layout& layout, int64_t stage) {
  const StateBytes bytes;
  return (bytes.weights + bytes.optimizer) * own_parameters(model, layout, stage);
}

StageMemory stage_memory(const Transformer& model, const Layout& layout, int64_t sequence,
                         int64_t stage) {
  StageLayers held = layers_of_stage(model, layout, stage);
  const std::optional<StageLayers> other = opposite_layers(model, layout, stage);
  StageMemory memory{.stage = stage,
                     .parameters = parameters_of_stages(model, layout, held, other)};
  if (other) held += *other;
  const double stages = other ? 2 : 1;
  add_states(model, layout, held, memory);
  // Of two stages, the one that embeds has more in flight than the other.
  const bool is_embedding_of_two = other && held.embeds;
  const bool are_alike = layout.stages.are_even() && held.predictions == 0 && !is_embedding_of_two;
  if (are_alike || chunks_of_rank(layout) == 1)
    add_alike_chunks(model, layout, sequence, held, stages, memory);
  else
    add_unlike_chunks(model, layout, sequence, memory);
  if (layout.offload.moves_activations()) move_activations(model, layout, sequence, held, memory);
  memory.recomputed_B = recomputed_B(model, layout, sequence, stage, held);
  // 4 bytes a logit, and 2 of its gradient; not fused, softmax and two gradients of 4.
  const double logit_B = layout.kernels == Kernels::fused ? 6 : 12;
  if (held.has_head && !model.patches)
    memory.ends_B += logit_B * real(1 + held.predictions) * micro_batch_tokens(layout, sequence) *
                     real(model.vocabulary) / real(layout.tensor);
  return memory;
}

StageMemory largest_memory(const Transformer& model, const Layout& layout, int64_t sequence,
                           double enough_B) {
  StageMemory largest = stage_memory(model, layout, sequence, 0);
  for (int64_t stage = 1; stage < layout.pipeline && largest.total_B() <= enough_B; ++stage) {
    const StageMemory one = stage_memory(model, layout, sequence, stage);
    if (one.total_B() > largest.total_B()) largest = one;
  }
  return largest;
}

}  // namespace sgdsim
