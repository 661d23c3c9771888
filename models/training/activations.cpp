// Source of the formulas: arXiv 2205.05198 (activations, and which recomputation saves what).
#include "models/training/activations.h"

#include <algorithm>

#include "models/training/layer_matrices.h"
#include "sim/core/cast.h"

namespace sgdsim {
namespace {

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

// Of frozen matrices nobody asks for gradients, so that their inputs are not kept for these; the
// inputs of attention and MLP, which norms make.
double frozen_inputs(const Transformer& model, const Layout& layout, LayerKind kind) {
  const Lora& lora = layout.lora;
  if (!lora.is_used()) return 0;
  if (model.parallel && model.layer_norms == 1)  // one input for both
    return lora.adapts_attention() || lora.adapts_mlp() ? 0 : 1;
  double inputs = 0;
  if (kind.mixing != Mixing::none && !lora.adapts_attention()) inputs += 1;
  if (kind.mlp != Mlp::none && !lora.adapts_mlp()) inputs += 1;
  return inputs;
}

// Values of a token that tensor parallelism repeats: inputs of norms, attention and MLP.
double repeated_values(const Transformer& model, const Layout& layout, LayerKind kind) {
  const double h = real(model.hidden);
  const bool is_single = kind.mixing == Mixing::none || kind.mlp == Mlp::none;
  double inputs = is_single ? 2 : 4;
  if (model.parallel) inputs = model.layer_norms == 1 ? 2 : 3;  // all from one hidden state
  inputs += model.more_norms(kind);
  inputs -= frozen_inputs(model, layout, kind);
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
    const int64_t kept = linear.projected() + linear.convolved() + 2 * linear.values();
    const bool has_narrow = linear.kind == LinearKind::kda;  // and decays and gates from these
    return real(kept + (has_narrow ? 2 * linear.rank + linear.keys() + linear.values() : 0));
  }
  const AttentionWidths widths = held_widths(model, layout, kind.mixing);
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

// Of experts: how many matrices' outputs are kept a second time, cut off at their limits.
double limited_matrices(const Transformer& model, const Layout& layout) {
  const bool are_kept = model.experts->limited && layout.kernels == Kernels::fused;
  return are_kept ? real(model.mlp_matrices() - 1) : 0;
}

double mlp_B(const Transformer& model, const Layout& layout, LayerKind kind) {
  const bool is_frozen = layout.lora.is_used() && !layout.lora.adapts_mlp();
  // Behind each matrix but the last one, and what goes into that one unless it is frozen.
  const double matrices = real(model.mlp_matrices() - (is_frozen ? 1 : 0));
  switch (kind.mlp) {
    case Mlp::dense:
      return 2 * matrices * real(model.mlp_width);
    case Mlp::experts: {
      const Experts& experts = *model.experts;
      // Ranks that split an expert each have its inputs whole.
      const double inputs = is_frozen ? 0 : real(model.expert_input() * layout.expert_tensor);
      const double made = matrices + limited_matrices(model, layout);
      return real(experts.per_token) * 2 * (inputs + made * real(experts.width)) +
             2 * matrices * real(experts.all_shared_width()) + 2 * real(experts.input);
    }
    case Mlp::none:
      break;
  }
  return 0;
}

// Between the two matrices of adapters.
double adapters_B(const Transformer& model, const Layout& layout, int64_t sequence,
                  LayerKind kind) {
  if (!layout.lora.is_used()) return 0;
  double values = 0;
  for (const RankMatrix& matrix : RankMatrices(model, layout, kind))
    if (is_adapted(layout, matrix))
      values += real(layout.lora.rank) * matrix.beside * matrix.groups *
                matrix.rows(micro_batch_tokens(layout, sequence));
  return 2 * values;
}

// Of what is kept, what modules make that are computed again.
double made_again_B(const Transformer& model, const Layout& layout, int64_t sequence,
                    LayerKind kind) {
  const auto recomputes = [&](RecomputedModule module) { return layout.recomputes(module); };
  double repeated = 0;  // values of a token, as above
  double split = 0;
  const bool is_frozen = layout.lora.is_used() && !layout.lora.adapts_mlp();
  if (recomputes(RecomputedModule::layernorm))
    repeated +=
        (model.norms_before(kind) - frozen_inputs(model, layout, kind)) * real(model.hidden);
  if (recomputes(RecomputedModule::mla_up_proj) && kind.attends()) {
    const AttentionWidths widths = attention_widths(model, kind.mixing);
    split += real(widths.queries + widths.keys + widths.values);
  }
  if (kind.mlp == Mlp::dense && recomputes(RecomputedModule::mlp))
    split += mlp_B(model, layout, kind) / 2;
  if (kind.has_experts()) {
    const Experts& experts = *model.experts;
    const bool all = recomputes(RecomputedModule::moe);
    if (all) split += mlp_B(model, layout, kind) / 2;
    if (recomputes(RecomputedModule::shared_experts))
      split += real((model.mlp_matrices() - (is_frozen ? 1 : 0)) * experts.all_shared_width());
    if (recomputes(RecomputedModule::moe_act))
      split += real(experts.per_token * experts.width) *
               (limited_matrices(model, layout) + (is_frozen ? 0 : 1));
  }
  return 2 * micro_batch_tokens(layout, sequence) *
         (repeated * over_sequence(layout) + split / real(layout.tensor));
}

double kept_B(const Transformer& model, const Layout& layout, int64_t sequence, LayerKind kind) {
  const double split = 2 * mixing_values(model, layout, kind) + mlp_B(model, layout, kind);
  return micro_batch_tokens(layout, sequence) *
             (2 * repeated_values(model, layout, kind) * over_sequence(layout) +
              split / real(layout.tensor) + indexer_B(model, kind)) +
         adapters_B(model, layout, sequence, kind);
}

// With recompute=operations: its input, outputs of every second product, and attention's.
double operations_B(const Transformer& model, const Layout& layout, int64_t sequence,
                    Mixing mixing) {
  const AttentionWidths widths = attention_widths(model, mixing);
  const int64_t values = (model.gated ? 2 : 1) * model.hidden + widths.queries + widths.values +
                         widths.output + model.mlp_width;
  return 2 * micro_batch_tokens(layout, sequence) * real(values);
}

}  // namespace

double micro_batch_tokens(const Layout& layout, int64_t sequence) {
  return real(layout.micro_batch) * real(sequence) / real(layout.context);
}

double layer_inputs_B(const Transformer& model, const Layout& layout, int64_t sequence) {
  return 2 * micro_batch_tokens(layout, sequence) * real(model.hidden) * over_sequence(layout);
}

double layer_activations_B(const Transformer& model, const Layout& layout, int64_t sequence,
                           LayerKind kind) {
  const bool keeps_scores = layout.keeps_scores && !layout.makes_scores_again();
  const double rest_B =
      layout.recompute == Recompute::operations
          ? operations_B(model, layout, sequence, kind.mixing)
          : kept_B(model, layout, sequence, kind) - made_again_B(model, layout, sequence, kind);
  return rest_B + (keeps_scores ? scores_B(model, layout, sequence, kind) : 0);
}

double layer_again_B(const Transformer& model, const Layout& layout, int64_t sequence,
                     LayerKind kind) {
  if (layout.recompute == Recompute::selective || layout.recompute == Recompute::modules)
    return (layout.makes_scores_again() ? scores_B(model, layout, sequence, kind) : 0) +
           made_again_B(model, layout, sequence, kind);
  if (layout.recompute == Recompute::operations)
    return kept_B(model, layout, sequence, kind) -
           operations_B(model, layout, sequence, kind.mixing);
  return 0;
}

}  // namespace sgdsim
