// Sources: arXiv 2412.19437 (latent attention), arXiv 2512.02556 (the indexer of sparse attention),
// arXiv 2405.21060 (Mamba-2, section 6: chunks), arXiv 2412.06464 (gated delta rule, section 3),
// arXiv 2510.26692 (Kimi delta attention), arXiv 2312.00752 (Mamba), arXiv 2405.17381 (lightning
// attention).
#include "models/training/mixing.h"

#include <algorithm>

#include "models/training/transformer.h"
#include "sim/core/cast.h"

namespace sgdsim {
namespace {

int64_t latent_matrices(const Transformer& model, const AttentionWidths& widths) {
  const LatentAttention& latent = *model.latent;
  const int64_t query_path = latent.query_rank == 0
                                 ? model.hidden * widths.queries
                                 : latent.query_rank * (model.hidden + widths.queries);
  const int64_t kv_down = model.hidden * (latent.kv_rank + latent.rotary_size);
  const int64_t kv_up = latent.kv_rank * model.heads * (latent.plain_size + latent.value_size);
  return query_path + kv_down + kv_up + widths.output * model.hidden;
}

int64_t attention_biases_of(const Transformer& model, const AttentionWidths& widths) {
  const int64_t qkv = widths.queries + widths.keys + widths.values;
  switch (model.attention_bias) {
    case AttentionBias::none:
      return 0;
    case AttentionBias::qkv:
      return qkv;
    case AttentionBias::all:
      return qkv + model.hidden;
  }
  return 0;
}

int64_t query_key_norm_parameters(const Transformer& model, const AttentionWidths& widths) {
  const int64_t numbers = model.norm == Norm::layer ? 2 : 1;
  switch (model.query_key_norm) {
    case QueryKeyNorm::none:
      return 0;
    case QueryKeyNorm::head:
      return numbers * (widths.queries / widths.heads + widths.keys / widths.kv_heads);
    case QueryKeyNorm::all:
      return numbers * (widths.queries + widths.keys);
  }
  return 0;
}

MixingParameters attention_parameters(const Transformer& model, Mixing mixing) {
  const AttentionWidths widths = attention_widths(model, mixing);
  const int64_t h = model.hidden;
  MixingParameters all;
  all.biases = attention_biases_of(model, widths) + (model.sinks ? widths.heads : 0);
  all.norms = query_key_norm_parameters(model, widths);
  if (model.latent) {
    all.matrices = latent_matrices(model, widths);
    all.norms += model.latent->query_rank + model.latent->kv_rank;
  } else {
    const bool has_values = mixing != Mixing::full || !model.keys_are_values;
    all.matrices = h * (widths.queries + widths.keys + widths.output);
    if (has_values) all.matrices += h * widths.values;
  }
  if (model.output_gate) all.matrices += h * widths.output;
  if (const auto& indexer = model.indexer) {
    const int64_t from =
        model.latent && model.latent->query_rank > 0 ? model.latent->query_rank : h;
    all.matrices += from * indexer->heads * indexer->size + h * (indexer->size + indexer->heads);
    all.norms += 2 * indexer->size;
  }
  return all;
}

MixingParameters linear_parameters(const Transformer& model) {
  const LinearMixing& linear = *model.linear;
  const int64_t h = model.hidden;
  const int64_t values = linear.values();
  MixingParameters all;
  all.matrices = h * linear.projected() + linear.convolved() * linear.kernel + values * h;
  if (linear.kernel_bias) all.biases += linear.convolved();
  if (linear.bias) all.biases += linear.projected() + h;
  switch (linear.kind) {
    case LinearKind::delta:
      all.biases += 2 * linear.value_heads;  // steps and decays
      all.norms += linear.value_size;
      break;
    case LinearKind::kda:
      all.matrices += linear.rank * (2 * h + linear.keys() + values);
      all.biases += linear.keys() + linear.value_heads;  // steps and decays
      all.norms += linear.value_size;
      break;
    case LinearKind::mamba2:
      all.biases += 3 * linear.value_heads;  // steps, decays and what passes by
      all.norms += values;
      break;
    case LinearKind::mamba:
      all.matrices += values * (linear.rank + 2 * linear.key_size) + linear.rank * values;
      all.biases += values * (linear.key_size + 2);
      if (linear.norms_parts) all.norms += linear.rank + 2 * linear.key_size;
      break;
    case LinearKind::lightning:
      all.norms += values;
      break;
  }
  return all;
}

// Pairs of positions of which one attends to the other: of s positions the earlier ones (an area,
// as s^2 / 2 is for all of them), no more than `most` each.
double pairs_of(double s, double most) {
  most = std::min(s, most);
  return s * most - most * most / 2;
}

double attended_pairs(const Transformer& model, Mixing mixing, double s) {
  if (mixing == Mixing::full)
    return model.indexer ? pairs_of(s, real(model.indexer->top)) : pairs_of(s, s);
  const double size = real(model.window->size);
  if (!model.window->in_blocks) return pairs_of(s, size);
  const double blocks = static_cast<double>(static_cast<int64_t>(s / size));
  const double rest = s - blocks * size;
  return blocks * pairs_of(size, size) + pairs_of(rest, rest);
}

double linear_flop_of_position(const LinearMixing& linear, double within) {
  const double chunk = within * real(linear.chunk);
  const double values = real(linear.values());
  const double state = real(linear.state());
  const double keys_of_values = real(linear.value_heads * linear.key_size);
  switch (linear.kind) {
    case LinearKind::delta:
    case LinearKind::kda:  // scores twice; keys and values solved for; values; state used thrice
      return 2 * chunk * (3 * keys_of_values + 2 * values) + 6 * state;
    case LinearKind::mamba2:
    case LinearKind::lightning:  // scores; values; a state made and read
      return 2 * chunk * (real(linear.keys()) + values) + 4 * state;
    case LinearKind::mamba:
      return 9 * state;
  }
  return 0;
}

}  // namespace

LayerKind kind_at(std::size_t index) {
  return {mixings[index / mlps.size()].second, mlps[index % mlps.size()].second};
}

int64_t LinearMixing::projected() const {
  switch (kind) {
    case LinearKind::delta:
      return 2 * keys() + 2 * values() + 2 * value_heads;
    case LinearKind::kda:
      return 2 * keys() + values() + value_heads;
    case LinearKind::mamba2:
      return 2 * values() + 2 * keys() + value_heads;
    case LinearKind::mamba:
      return 2 * values();
    case LinearKind::lightning:
      return 2 * keys() + 2 * values();
  }
  return 0;
}

int64_t LinearMixing::convolved() const {
  if (kernel == 0) return 0;
  return kind == LinearKind::mamba ? values() : values() + 2 * keys();
}

AttentionWidths attention_widths(const Transformer& model, Mixing mixing) {
  if (mixing != Mixing::full && mixing != Mixing::window) return {};
  AttentionWidths widths{.heads = model.heads, .kv_heads = model.kv_heads};
  if (const auto& latent = model.latent) {
    widths.queries = widths.keys = model.heads * (latent->plain_size + latent->rotary_size);
    widths.values = widths.output = model.heads * latent->value_size;
    return widths;
  }
  int64_t size = model.head_size;
  if (mixing == Mixing::window && model.window->heads > 0) widths.heads = model.window->heads;
  if (mixing == Mixing::window && model.window->kv_heads > 0)
    widths.kv_heads = model.window->kv_heads;
  if (mixing == Mixing::window && model.window->head_size > 0) size = model.window->head_size;
  widths.queries = widths.output = widths.heads * size;
  widths.keys = widths.values = widths.kv_heads * size;
  return widths;
}

MixingParameters mixing_parameters(const Transformer& model, Mixing mixing) {
  switch (mixing) {
    case Mixing::full:
    case Mixing::window:
      return attention_parameters(model, mixing);
    case Mixing::linear:
      return linear_parameters(model);
    case Mixing::none:
      break;
  }
  return {};
}

double attention_core_flop(const Transformer& model, Mixing mixing, int64_t sequence,
                           FlopConvention convention) {
  const auto s = real(sequence);
  const bool is_half = model.causal && convention == FlopConvention::halved;
  if (mixing == Mixing::none) return 0;
  if (mixing == Mixing::linear)
    return s * linear_flop_of_position(*model.linear, is_half ? 0.5 : 1);
  const AttentionWidths widths = attention_widths(model, mixing);
  const double whole = is_half ? 1 : 2;  // of the pairs that a mask leaves
  double flop = 2 * attended_pairs(model, mixing, s) * real(widths.queries + widths.output) * whole;
  if (model.indexer && mixing == Mixing::full)
    flop += 2 * pairs_of(s, s) * real(model.indexer->heads * model.indexer->size) * whole;
  return flop;
}

}  // namespace sgdsim
