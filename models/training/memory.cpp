// Sources of the formulas: arXiv 2205.05198 (activations, and which recomputation saves what),
// arXiv 1910.02054 (states by ZeRO stage), Megatron-LM (bytes of a parameter, orders of passes).
#include "models/training/memory.h"

#include <algorithm>

#include "sim/core/cast.h"

namespace sgdsim {
namespace {

double micro_batch_tokens(const Layout& layout, int64_t sequence) {
  return real(layout.micro_batch) * real(sequence) / real(layout.context);
}

// What tensor parallelism repeats and sequence parallelism divides.
double over_sequence(const Layout& layout) {
  return layout.sequence_parallel ? 1 / real(layout.tensor) : 1;
}

double scores_B(const Transformer& model, const Layout& layout, int64_t sequence) {
  const double bytes = model.dropout ? 5 : 2;  // softmax; with dropout its mask and its output, too
  return bytes * real(model.heads) * real(sequence) * micro_batch_tokens(layout, sequence) /
         real(layout.tensor);
}

// Of a layer whose forward pass keeps everything but the scores.
double kept_B(const Transformer& model, const Layout& layout, int64_t sequence, bool has_experts) {
  const double tokens = micro_batch_tokens(layout, sequence);
  const double h = real(model.hidden);
  double repeated = (model.dropout ? 10 : 8) * h;
  if (const auto& latent = model.latent)
    repeated += 2 * real(latent->query_rank + latent->kv_rank + latent->rotary_size);
  double split = 2 * real(model.query_width() + model.key_width() + model.value_width() +
                          model.attention_output_width());
  if (layout.context_by == ContextBy::gather)  // those of the other ranks stay, too
    split += 2 * real(layout.context - 1) * real(model.key_width() + model.value_width());
  const double matrices = real(model.mlp_matrices());
  if (has_experts) {
    const Experts& experts = *model.experts;
    split += real(experts.per_token) * 2 * (h + matrices * real(experts.width));
    split += real(experts.shared) * 2 * matrices * real(experts.width);
  } else {
    split += 2 * matrices * real(model.mlp_width);
  }
  return tokens * (repeated * over_sequence(layout) + split / real(layout.tensor));
}

// With recompute=operations: its input, outputs of every second product, and attention's.
double operations_B(const Transformer& model, const Layout& layout, int64_t sequence) {
  const int64_t widths = (model.gated ? 2 : 1) * model.hidden + model.query_width() +
                         model.value_width() + model.attention_output_width() + model.mlp_width;
  return 2 * micro_batch_tokens(layout, sequence) * real(widths);
}

double layer_inputs_B(const Transformer& model, const Layout& layout, int64_t sequence) {
  return 2 * micro_batch_tokens(layout, sequence) * real(model.hidden) * over_sequence(layout);
}

// Forward passes of chunks before the first backward pass, the one that follows included.
int64_t most_in_flight(const Layout& layout, int64_t stage) {
  const int64_t behind = layout.pipeline - stage;
  const int64_t micro_batches = layout.micro_batches;
  if (layout.schedule == PipelineSchedule::zbv) return 2 * layout.pipeline;  // on every stage
  if (layout.chunks > 1)
    return std::min(2 * (behind - 1) + (layout.chunks - 1) * layout.pipeline + 1,
                    micro_batches * layout.chunks);
  switch (layout.schedule) {
    case PipelineSchedule::one_f_one_b:
      return std::min(micro_batches, behind);
    case PipelineSchedule::zb1p:  // gradients of weights stay back by the number of the stage
      return std::min(micro_batches, layout.pipeline);
    case PipelineSchedule::gpipe:
      return micro_batches;
    case PipelineSchedule::dualpipe:
      return layout.pipeline + 1;
    case PipelineSchedule::zbv:
      break;
  }
  return 0;
}

void set_moment(const Layout& layout, StageMemory& memory) {
  const int64_t last = memory.in_flight - 1;
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

// Of the forward passes in flight, those of the first chunk.
int64_t first_chunks_in_flight(const Layout& layout, int64_t in_flight) {
  if (layout.chunks == 1) return in_flight;
  if (layout.schedule == PipelineSchedule::zbv) return std::min(in_flight, layout.micro_batches);
  const int64_t round = layout.pipeline * layout.chunks;
  return in_flight / round * layout.pipeline + std::min(in_flight % round, layout.pipeline);
}

RankParameters sum(const RankParameters& a, const RankParameters& b) {
  return {a.matrices + b.matrices, a.experts + b.experts, a.small + b.small, a.ends + b.ends};
}

RankParameters parameters_of_stage(const Transformer& model, const Layout& layout, int64_t stage) {
  const StageLayers held = layers_of_stage(model, layout, stage);
  RankParameters all;
  auto add = [&](int64_t layers, bool has_experts) {
    if (layers == 0) return;
    const RankParameters one = rank_layer_parameters(model, layout, has_experts);
    all.matrices += real(layers) * one.matrices;
    all.experts += real(layers) * one.experts;
    all.small += real(layers) * one.small;
  };
  add(held.dense, false);
  add(held.with_experts, true);
  const ParameterCount count = parameters_of(model);
  const double t = real(layout.tensor);
  if (held.embeds) all.ends += real(count.embedding) / t + real(count.positions);
  if (held.has_head) {
    all.ends += real(model.hidden) * (model.layer_norm ? 2 : 1);
    // A tied one is the embedding, unless that lies on another stage.
    if (!model.tied) all.ends += real(count.head) / t;
    if (model.tied && !held.embeds) all.ends += real(count.embedding) / t;
  }
  return all;
}

void add_states(const Transformer& model, const Layout& layout, const StageLayers& held,
                StageMemory& memory) {
  const RankParameters& parameters = memory.parameters;
  const StateBytes bytes = state_bytes(layout, layout.shards());
  const StateBytes of_experts = state_bytes(layout, layout.expert_shards());
  const double outside = parameters.outside_experts();
  memory.weights_B = bytes.weights * outside + of_experts.weights * parameters.experts;
  memory.gradients_B = bytes.gradients * outside + of_experts.gradients * parameters.experts;
  memory.optimizer_B = bytes.optimizer * outside + of_experts.optimizer * parameters.experts;
  if (layout.zero < 2) return;
  double layer = 0;
  if (held.dense > 0) layer = rank_layer_parameters(model, layout, false).all();
  if (held.with_experts > 0)
    layer = std::max(layer, rank_layer_parameters(model, layout, true).all());
  const double gathered = layout.zero == 3 ? 2 * 2 : 0;  // this layer's weights and the next one's
  memory.gathered_B = layer * (gathered + layout.gradient_B());
  if (!layout.keeps_weights) return;
  // From its forward to its backward pass every layer's weights are whole, beside the shards.
  memory.gathered_B = layer * layout.gradient_B() + 2 * parameters.all();
}

}  // namespace

RankParameters rank_layer_parameters(const Transformer& model, const Layout& layout,
                                     bool has_experts) {
  const LayerParameters layer = layer_parameters(model, has_experts);
  return {.matrices = real(layer.attention_matrices + layer.mlp_matrices) / real(layout.tensor),
          .experts = real(layer.experts) / real(layout.expert),
          .small = real(layer.router + layer.biases + layer.norms),
          .ends = 0};
}

RankParameters rank_parameters(const Transformer& model, const Layout& layout, int64_t stage) {
  const RankParameters own = parameters_of_stage(model, layout, stage);
  if (layout.schedule != PipelineSchedule::dualpipe) return own;
  return sum(own, parameters_of_stage(model, layout, layout.pipeline - 1 - stage));
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

double layer_activations_B(const Transformer& model, const Layout& layout, int64_t sequence,
                           bool has_experts) {
  const bool keeps_scores = layout.keeps_scores && layout.recompute != Recompute::selective;
  const double rest_B = layout.recompute == Recompute::operations
                            ? operations_B(model, layout, sequence)
                            : kept_B(model, layout, sequence, has_experts);
  return rest_B + (keeps_scores ? scores_B(model, layout, sequence) : 0);
}

StageMemory stage_memory(const Transformer& model, const Layout& layout, int64_t sequence,
                         int64_t stage) {
  StageMemory memory{.stage = stage, .parameters = rank_parameters(model, layout, stage)};
  StageLayers held = layers_of_stage(model, layout, stage);
  double stages = 1;
  if (layout.schedule == PipelineSchedule::dualpipe) {
    held += layers_of_stage(model, layout, layout.pipeline - 1 - stage);
    stages = 2;
  }
  add_states(model, layout, held, memory);
  memory.in_flight = most_in_flight(layout, stage);
  set_moment(layout, memory);
  const double input_B = layer_inputs_B(model, layout, sequence);
  double layers_B = real(held.kept_inputs) * input_B;
  for (const bool has_experts : {false, true}) {
    const int64_t layers = held.count(has_experts);
    if (layers == 0) continue;
    const int64_t again = held.count_again(has_experts);
    const double one_B = layer_activations_B(model, layout, sequence, has_experts);
    layers_B += real(layers - again) * one_B;
    // While it is computed again, a layer or unit is as if nothing were.
    const int64_t unit = layout.recompute == Recompute::uniform ? layout.recompute_layers : 1;
    if (again > 0)
      memory.recomputed_B = std::max(memory.recomputed_B, real(unit) * one_B - input_B);
    if (layout.recompute == Recompute::selective && layout.keeps_scores)
      memory.recomputed_B = scores_B(model, layout, sequence);
    if (layout.recompute == Recompute::operations)
      memory.recomputed_B =
          kept_B(model, layout, sequence, false) - operations_B(model, layout, sequence);
  }
  memory.activations_B = real(memory.in_flight) * layers_B / (stages * real(layout.chunks));
  if (held.embeds)
    memory.ends_B += real(first_chunks_in_flight(layout, memory.in_flight)) *
                     layer_inputs_B(model, layout, sequence) / stages;
  // 4 bytes a logit, and 2 of its gradient; not fused, softmax and two gradients of 4.
  const double logit_B = layout.kernels == Kernels::fused ? 6 : 12;
  if (held.has_head && !model.patches)
    memory.ends_B += logit_B * micro_batch_tokens(layout, sequence) * real(model.vocabulary) /
                     real(layout.tensor);
  return memory;
}

StageMemory largest_memory(const Transformer& model, const Layout& layout, int64_t sequence) {
  StageMemory largest = stage_memory(model, layout, sequence, 0);
  for (int64_t stage = 1; stage < layout.pipeline; ++stage) {
    const StageMemory one = stage_memory(model, layout, sequence, stage);
    if (one.total_B() > largest.total_B()) largest = one;
  }
  return largest;
}

}  // namespace sgdsim
