// In the order of the forward pass: attention, router, shared experts or dense MLP, experts.
#include "models/training/layer_matrices.h"

#include <algorithm>
#include <cassert>

#include "sim/core/cast.h"

namespace sgdsim {

AttentionWidths held_widths(const Transformer& model, const Layout& layout, Mixing mixing) {
  AttentionWidths widths = attention_widths(model, mixing);
  if (model.latent || widths.kv_heads == 0) return widths;
  const int64_t copies = std::max<int64_t>(1, layout.tensor / widths.kv_heads);
  widths.keys *= copies;
  widths.values *= copies;
  return widths;
}

double rank_mixing_matrices(const Transformer& model, const Layout& layout, LayerKind kind) {
  const AttentionWidths whole = attention_widths(model, kind.mixing);
  const AttentionWidths held = held_widths(model, layout, kind.mixing);
  const bool has_values = kind.mixing != Mixing::full || !model.keys_are_values;
  const int64_t more = held.keys - whole.keys + (has_values ? held.values - whole.values : 0);
  return real(layer_parameters(model, kind).mixing.matrices + model.hidden * more) /
         real(layout.tensor);
}

RankMatrices::RankMatrices(const Transformer& model, const Layout& layout, LayerKind kind) {
  add_attention(model, layout, kind);
  if (kind.has_experts()) add_experts(model, layout);
  if (kind.mlp == Mlp::dense) add_mlp(model, real(model.mlp_width) / real(layout.tensor));
}

void RankMatrices::add(const RankMatrix& matrix) {
  if (!matrix.is_there()) return;
  assert(count_ < all_.size());
  all_[count_++] = matrix;
}

void RankMatrices::add_linear(const LinearMixing& linear, double t, double h) {
  const double values = real(linear.values()) / t;
  add({.columns = real(linear.projected()) / t, .inner = h});
  if (linear.kind == LinearKind::mamba) {
    add({.columns = real(linear.rank + 2 * linear.key_size), .inner = values});
    add({.columns = values, .inner = real(linear.rank)});
  }
  if (linear.kind == LinearKind::kda) {  // decays and gates pass through a narrow vector each
    add({.columns = 2 * real(linear.rank), .inner = h, .split = t, .beside = 2});
    add({.columns = real(linear.keys()) / t + values, .inner = real(linear.rank), .beside = 2});
  }
  add({.columns = h, .inner = values});
}

void RankMatrices::add_attention(const Transformer& model, const Layout& layout, LayerKind kind) {
  const double t = real(layout.tensor);
  const double h = real(model.hidden);
  if (kind.mixing == Mixing::none) return;
  if (kind.mixing == Mixing::linear) return add_linear(*model.linear, t, h);
  const AttentionWidths widths = held_widths(model, layout, kind.mixing);
  const double queries = real(widths.queries);
  // Narrow vectors are made by one rank for all: each has its part of the tokens.
  if (const auto& latent = model.latent) {
    if (latent->query_rank > 0) {
      add({.columns = real(latent->query_rank), .inner = h, .split = t});
      add({.of = MatrixOf::latent, .columns = queries / t, .inner = real(latent->query_rank)});
    } else {
      add({.of = MatrixOf::latent, .columns = queries / t, .inner = h});
    }
    add({.columns = real(latent->kv_rank + latent->rotary_size), .inner = h, .split = t});
    add({.of = MatrixOf::latent,
         .columns = real(model.heads * (latent->plain_size + latent->value_size)) / t,
         .inner = real(latent->kv_rank)});
  } else {
    const bool has_values = kind.mixing != Mixing::full || !model.keys_are_values;
    const double made = real(widths.keys + (has_values ? widths.values : 0));
    add({.columns = (queries + made) / t, .inner = h, .beside = has_values ? 3.0 : 2.0});
  }
  if (model.output_gate) add({.columns = real(widths.output) / t, .inner = h});
  if (const auto& indexer = model.indexer; indexer && kind.mixing == Mixing::full) {
    const bool is_narrow = model.latent && model.latent->query_rank > 0;
    add({.columns = real(indexer->heads * indexer->size),
         .inner = is_narrow ? real(model.latent->query_rank) : h,
         .split = t});
    add({.columns = real(indexer->size + indexer->heads), .inner = h, .split = t});
  }
  add({.columns = h, .inner = real(widths.output) / t});
}

void RankMatrices::add_mlp(const Transformer& model, double width) {
  if (width <= 0) return;
  const double first = real(model.mlp_matrices() - 1);
  const double h = real(model.hidden);
  add({.of = MatrixOf::mlp, .columns = first * width, .inner = h, .beside = first});
  add({.of = MatrixOf::mlp, .columns = h, .inner = width});
}

// All of a rank's experts are one grouped kernel; tokens are spread evenly. Where experts are
// split, a rank computes a part of each for the tokens of all that share it.
void RankMatrices::add_experts(const Transformer& model, const Layout& layout) {
  const Experts& experts = *model.experts;
  const double t = real(layout.tensor);
  const double h = real(model.hidden);
  add({.of = MatrixOf::router,
       .columns = real(experts.choices() + (experts.shared_gate ? 1 : 0)),
       .inner = h,
       .split = t});
  add_mlp(model, real(experts.all_shared_width()) / t);
  const double input = real(model.expert_input());
  add({.of = MatrixOf::router, .columns = real(experts.input), .inner = h, .split = t});
  const double own = real(experts.count) / real(layout.expert);
  const double visits = real(experts.per_token * layout.expert_tensor);
  const double width = real(experts.width) / real(layout.expert_tensor);
  const double first = real(model.mlp_matrices() - 1);
  add({.of = MatrixOf::experts,
       .columns = first * width,
       .inner = input,
       .groups = own,
       .split = t,
       .visits = visits,
       .beside = first});
  add({.of = MatrixOf::experts,
       .columns = input,
       .inner = width,
       .groups = own,
       .split = t,
       .visits = visits});
  add({.of = MatrixOf::router, .columns = h, .inner = real(experts.input), .split = t});
}

bool is_adapted(const Layout& layout, const RankMatrix& matrix) {
  switch (matrix.of) {
    case MatrixOf::attention:
    case MatrixOf::latent:
      return layout.lora.adapts_attention();
    case MatrixOf::mlp:
    case MatrixOf::experts:
      return layout.lora.adapts_mlp();
    case MatrixOf::router:
      break;
  }
  return false;
}

double adapter_parameters(const Layout& layout, const RankMatrix& matrix) {
  if (!is_adapted(layout, matrix)) return 0;
  return matrix.groups * real(layout.lora.rank) * (matrix.beside * matrix.inner + matrix.columns);
}

double adapters_of_token(const Transformer& model, const Lora& lora) {
  Layout whole;  // of one rank
  whole.lora = lora;
  const OfKinds<int64_t> kinds = model.kinds();
  double all = 0;
  for (std::size_t i = 0; i < most_kinds; ++i) {
    if (kinds[i] == 0) continue;
    for (const RankMatrix& matrix : RankMatrices(model, whole, kind_at(i)))
      all += real(kinds[i]) * adapter_parameters(whole, matrix) * matrix.visits / matrix.groups;
  }
  return all;
}

}  // namespace sgdsim
