// Sources of the formulas: arXiv 2205.05198 (activations, and which recomputation saves what),
// arXiv 1910.02054 (states by ZeRO stage), Megatron-LM (bytes of a parameter, orders of passes).
#include "models/training/memory.h"

#include <algorithm>
#include <optional>

#include "models/training/pass_order.h"
#include "sim/core/cast.h"

namespace sgdsim {
namespace {

constexpr double bytes_per_weight = 2;

double micro_batch_tokens(const Layout& layout, int64_t sequence) {
  return real(layout.micro_batch) * real(sequence) / real(layout.context);
}

// What tensor parallelism repeats and sequence parallelism divides.
double over_sequence(const Layout& layout) {
  return layout.sequence_parallel ? 1 / real(layout.tensor) : 1;
}

double scores_B(const Transformer& model, const Layout& layout, int64_t sequence, LayerKind kind) {
  if (!kind.attends()) return 0;
  const double bytes = model.dropout ? 5 : 2;  // softmax; with dropout its mask and its output, too
  return bytes * real(attention_widths(model, kind.mixing).heads) * real(sequence) *
         micro_batch_tokens(layout, sequence) / real(layout.tensor);
}

// Values of a token that tensor parallelism repeats: inputs of norms, attention and MLP.
double repeated_values(const Transformer& model, LayerKind kind) {
  const double h = real(model.hidden);
  const bool is_single = kind.mixing == Mixing::none || kind.mlp == Mlp::none;
  double inputs = is_single ? 2 : 4;
  if (model.parallel) inputs = model.layer_norms == 1 ? 2 : 3;  // all from one hidden state
  if (model.layer_norms == 4) inputs += is_single ? 1 : 2;
  double values = inputs * h + (model.dropout ? (is_single ? 0.5 : 1) * h : 0);
  if (!kind.attends()) return values;
  if (const auto& latent = model.latent)
    values += real(latent->query_rank + latent->kv_rank + latent->rotary_size);
  return values;
}

// Of a layer whose forward pass keeps everything but the scores: values of a token that mixing
// keeps beside its input.
double mixing_values(const Transformer& model, const Layout& layout, LayerKind kind) {
  if (kind.mixing == Mixing::linear) {  // and behind the convolution; states are computed again
    const LinearMixing& linear = *model.linear;
    return real(linear.projected() + linear.convolved() + 2 * linear.values());
  }
  const AttentionWidths widths = attention_widths(model, kind.mixing);
  int64_t values = widths.queries + widths.keys + widths.values + widths.output;
  if (kind.attends() && model.query_key_norm != QueryKeyNorm::none)
    values += widths.queries + widths.keys;
  if (kind.attends() && model.output_gate) values += 2 * widths.output;
  if (layout.context_by == ContextBy::gather)  // those of the other ranks stay, too
    values += (layout.context - 1) * (widths.keys + widths.values);
  return real(values);
}

// What the indexer of sparse attention keeps of a token: its queries, key and weights, and the
// positions that it chose, of 4 bytes.
double indexer_B(const Transformer& model, LayerKind kind) {
  if (!model.indexer || kind.mixing != Mixing::full) return 0;
  const Indexer& indexer = *model.indexer;
  return 2 * real(indexer.heads * indexer.size + indexer.size + indexer.heads) +
         4 * real(indexer.top);
}

double mlp_B(const Transformer& model, LayerKind kind) {
  const double matrices = real(model.mlp_matrices());
  switch (kind.mlp) {
    case Mlp::dense:
      return 2 * matrices * real(model.mlp_width);
    case Mlp::experts: {
      const Experts& experts = *model.experts;
      return real(experts.per_token) * 2 * (real(model.hidden) + matrices * real(experts.width)) +
             2 * matrices * real(experts.all_shared_width());
    }
    case Mlp::none:
      break;
  }
  return 0;
}

double kept_B(const Transformer& model, const Layout& layout, int64_t sequence, LayerKind kind) {
  const double split = 2 * mixing_values(model, layout, kind) + mlp_B(model, kind);
  return micro_batch_tokens(layout, sequence) *
         (2 * repeated_values(model, kind) * over_sequence(layout) + split / real(layout.tensor) +
          indexer_B(model, kind));
}

// With recompute=operations: its input, outputs of every second product, and attention's.
double operations_B(const Transformer& model, const Layout& layout, int64_t sequence,
                    Mixing mixing) {
  const AttentionWidths widths = attention_widths(model, mixing);
  const int64_t values = (model.gated ? 2 : 1) * model.hidden + widths.queries + widths.values +
                         widths.output + model.mlp_width;
  return 2 * micro_batch_tokens(layout, sequence) * real(values);
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
  const int64_t ahead = std::min(2 * (p - stage - 1) + round - p, all);
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
  return {a.matrices + b.matrices, a.experts + b.experts, a.small + b.small, a.ends + b.ends};
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
  }
  const ParameterCount count = end_parameters(model);
  const double t = real(layout.tensor);
  if (held.embeds) all.ends += real(count.embedding) / t + real(count.positions);
  if (held.embeds && model.embedding_norm) all.ends += real(model.norm_parameters());
  if (held.has_head) {
    all.ends += real(model.norm_parameters());
    // A tied one is the embedding, unless that lies on another stage.
    if (!model.tied) all.ends += real(count.head) / t;
    if (model.tied && !held.embeds) all.ends += real(count.embedding) / t;
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

// A product that adds to the gradients which are kept hands autograd a tensor of the weight's shape
// that nobody reads. There is one of each shape (Transformer Engine's dummy gradients).
double placeholders_B(const Transformer& model, const Layout& layout, const StageLayers& held) {
  if (layout.adds_apart || layout.zero >= 2) return 0;
  double mixing = 0;
  double dense = 0;
  double experts = 0;
  for (std::size_t i = 0; i < most_kinds; ++i) {
    if (held.kinds[i] == 0) continue;
    const LayerParameters layer = layer_parameters(model, kind_at(i));
    mixing = std::max(mixing, real(layer.mixing.matrices));
    if (kind_at(i).mlp == Mlp::dense) dense = real(layer.mlp_matrices);
    if (kind_at(i).has_experts())  // of which all have the same shapes
      experts = real(layer.mlp_matrices) / real(layout.tensor) +
                real(layer.experts) / real(model.experts->count);
  }
  return bytes_per_weight * ((mixing + dense) / real(layout.tensor) + experts);
}

void add_states(const Transformer& model, const Layout& layout, const StageLayers& held,
                StageMemory& memory) {
  const RankParameters& parameters = memory.parameters;
  const StateBytes bytes = state_bytes(layout, layout.shards());
  const StateBytes of_experts = state_bytes(layout, layout.expert_shards());
  const double outside = parameters.outside_experts();
  memory.weights_B = bytes.weights * outside + of_experts.weights * parameters.experts;
  memory.gradients_B = bytes.gradients * outside + of_experts.gradients * parameters.experts;
  memory.placeholders_B = placeholders_B(model, layout, held);
  memory.optimizer_B = bytes.optimizer * outside + of_experts.optimizer * parameters.experts;
  if (layout.zero < 2) return;
  double layer = 0;
  for (std::size_t i = 0; i < most_kinds; ++i)
    if (held.kinds[i] > 0)
      layer = std::max(layer, rank_layer_parameters(model, layout, kind_at(i)).all());
  const double gathered = layout.zero == 3 ? 2 * 2 : 0;  // this layer's weights and the next one's
  memory.gathered_B = layer * (gathered + layout.gradient_B());
  if (!layout.keeps_weights) return;
  // From its forward to its backward pass every layer's weights are whole, beside the shards.
  memory.gathered_B = layer * layout.gradient_B() + 2 * parameters.all();
}

// Of one micro-batch, what the layers keep.
double kept_by_layers_B(const Transformer& model, const Layout& layout, int64_t sequence,
                        const StageLayers& held) {
  double all_B = real(held.kept_inputs) * layer_inputs_B(model, layout, sequence);
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
    if (layout.recompute == Recompute::selective && layout.keeps_scores)
      most_B = std::max(most_B, scores_B(model, layout, sequence, kind));
    if (layout.recompute == Recompute::operations)
      most_B = std::max(most_B, kept_B(model, layout, sequence, kind) -
                                    operations_B(model, layout, sequence, kind.mixing));
  }
  return most_B;
}

// All that is in flight, of a rank whose chunks are alike.
void add_alike_chunks(const Transformer& model, const Layout& layout, int64_t sequence,
                      const StageLayers& held, double stages, StageMemory& memory) {
  memory.in_flight = most_in_flight(layout, memory.stage);
  set_moment(layout, memory);
  memory.activations_B = real(memory.in_flight) * kept_by_layers_B(model, layout, sequence, held) /
                         (stages * real(layout.chunks));
  if (held.embeds)
    memory.ends_B += real(first_chunks_in_flight(layout, memory.in_flight)) *
                     layer_inputs_B(model, layout, sequence) / stages;
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

}  // namespace

RankParameters rank_layer_parameters(const Transformer& model, const Layout& layout,
                                     LayerKind kind) {
  const LayerParameters layer = layer_parameters(model, kind);
  return {.matrices = real(layer.mixing.matrices + layer.mlp_matrices) / real(layout.tensor),
          .experts = real(layer.experts + layer.expert_biases) / real(layout.expert),
          .small = real(layer.router + layer.mixing.biases + layer.mlp_biases + layer.norms +
                        layer.mixing.norms),
          .ends = 0};
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

double saved_B(const Transformer& model, const Layout& layout, int64_t stage) {
  const RankParameters held = rank_parameters(model, layout, stage);
  const StateBytes bytes;
  const double stages = layout.schedule == PipelineSchedule::dualpipe ? 2 : 1;  // have it as well
  const double writers = real(layout.context * layout.replicas) * stages;
  const double of_experts = writers * real(layout.tensor) / real(layout.expert);
  return (bytes.weights + bytes.optimizer) *
         (held.outside_experts() / writers + held.experts / of_experts);
}

double layer_activations_B(const Transformer& model, const Layout& layout, int64_t sequence,
                           LayerKind kind) {
  const bool keeps_scores = layout.keeps_scores && layout.recompute != Recompute::selective;
  const double rest_B = layout.recompute == Recompute::operations
                            ? operations_B(model, layout, sequence, kind.mixing)
                            : kept_B(model, layout, sequence, kind);
  return rest_B + (keeps_scores ? scores_B(model, layout, sequence, kind) : 0);
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
  if (layout.stages.are_even() || chunks_of_rank(layout) == 1)
    add_alike_chunks(model, layout, sequence, held, stages, memory);
  else
    add_unlike_chunks(model, layout, sequence, memory);
  memory.recomputed_B = recomputed_B(model, layout, sequence, stage, held);
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
