// Counting. Totals are checked in floating point first, so that no product of 64 bits wraps around.
#include "models/training/transformer.h"

#include <algorithm>

#include "sim/core/error.h"

namespace sgdsim {
namespace {

constexpr double most_model_parameters = 1e15;

int64_t norm_parameters(const Transformer& model) {
  return model.hidden * (model.layer_norm ? 2 : 1);
}

int64_t latent_matrices(const Transformer& model) {
  const LatentAttention& latent = *model.latent;
  const int64_t queries = model.query_width();
  const int64_t query_path = latent.query_rank == 0 ? model.hidden * queries
                                                    : latent.query_rank * (model.hidden + queries);
  const int64_t kv_down = model.hidden * (latent.kv_rank + latent.rotary_size);
  const int64_t kv_up = latent.kv_rank * model.heads * (latent.plain_size + latent.value_size);
  return query_path + kv_down + kv_up + model.attention_output_width() * model.hidden;
}

int64_t attention_bias_parameters(const Transformer& model) {
  const int64_t qkv = model.query_width() + model.key_width() + model.value_width();
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

// An upper bound that cannot overflow.
double rough_parameters(const Transformer& model) {
  auto real = [](int64_t value) { return static_cast<double>(value); };
  const double h = real(model.hidden);
  double layer = h * real(model.heads) * real(model.head_size) * 4 + 3 * h * real(model.mlp_width);
  if (model.experts) {
    const Experts& experts = *model.experts;
    layer +=
        (3 * real(experts.width) * real(experts.count + experts.shared) + real(experts.count)) * h;
  }
  if (model.latent) {
    const LatentAttention& latent = *model.latent;
    const double head =
        real(latent.plain_size) + real(latent.rotary_size) + real(latent.value_size);
    layer += (h + real(model.heads) * head) *
             (real(latent.query_rank) + real(latent.kv_rank) + real(latent.rotary_size) + 2 * h);
  }
  return real(model.layers) * (layer + 10 * h) + 2 * h * real(model.vocabulary) +
         h * real(model.positions);
}

[[noreturn]] void fail(const std::string& where, const std::string& sentence) {
  throw InputError(where, sentence);
}

void check_experts(const Transformer& model, const std::string& where) {
  const Experts& experts = *model.experts;
  if (experts.per_token > experts.count)
    fail(where, "a token visits " + std::to_string(experts.per_token) + " of " +
                    std::to_string(experts.count) + " experts; expected at most all of them");
  if (experts.first_dense > model.layers)
    fail(where, "the first " + std::to_string(experts.first_dense) +
                    " layers have no experts, but there are only " + std::to_string(model.layers));
}

}  // namespace

int64_t Transformer::query_width() const {
  return latent ? heads * (latent->plain_size + latent->rotary_size) : heads * head_size;
}
int64_t Transformer::key_width() const {
  return latent ? heads * (latent->plain_size + latent->rotary_size) : kv_heads * head_size;
}
int64_t Transformer::value_width() const {
  return latent ? heads * latent->value_size : kv_heads * head_size;
}
int64_t Transformer::attention_output_width() const {
  return latent ? heads * latent->value_size : heads * head_size;
}

LayerParameters layer_parameters(const Transformer& model, bool has_experts) {
  LayerParameters layer;
  const int64_t h = model.hidden;
  layer.norms = 2 * norm_parameters(model);
  layer.biases = attention_bias_parameters(model);
  if (model.latent) {
    layer.attention_matrices = latent_matrices(model);
    layer.norms += model.latent->query_rank + model.latent->kv_rank;
  } else {
    layer.attention_matrices =
        h * (2 * model.query_width() + model.key_width() + model.value_width());
  }
  const int64_t matrices = model.mlp_matrices();
  if (has_experts) {
    const Experts& experts = *model.experts;
    layer.router = h * experts.count + (experts.router_bias ? experts.count : 0);
    layer.experts = matrices * h * experts.width * experts.count;
    layer.mlp_matrices = matrices * h * experts.width * experts.shared;
  } else {
    layer.mlp_matrices = matrices * h * model.mlp_width;
    if (model.mlp_bias) layer.biases += (matrices - 1) * model.mlp_width + h;
  }
  return layer;
}

ParameterCount parameters_of(const Transformer& model) {
  ParameterCount count;
  const int64_t h = model.hidden;
  if (model.patches) {
    const int64_t values = model.patches->side * model.patches->side * model.patches->channels;
    count.embedding = values * h + h + h;  // a bias, and the vector that stands for all
    count.head = model.vocabulary * h + model.vocabulary;
  } else {
    count.embedding = model.vocabulary * h;
    count.head = model.tied ? 0 : model.vocabulary * h;
  }
  count.positions = model.positions * h;
  count.norms = norm_parameters(model);  // the last one
  const LayerParameters dense = layer_parameters(model, false);
  const int64_t dense_layers = model.dense_layers();
  auto add = [&](const LayerParameters& layer, int64_t layers, int64_t attention_biases_of) {
    count.attention += layers * (layer.attention_matrices + attention_biases_of);
    count.mlp += layers * (layer.mlp_matrices + layer.biases - attention_biases_of);
    count.router += layers * layer.router;
    count.experts += layers * layer.experts;
    count.norms += layers * layer.norms;
  };
  const int64_t attention_biases_of = attention_bias_parameters(model);
  add(dense, dense_layers, attention_biases_of);
  if (model.experts)
    add(layer_parameters(model, true), model.layers - dense_layers, attention_biases_of);
  count.total = count.embedding + count.positions + count.attention + count.mlp + count.router +
                count.experts + count.norms + count.head;
  count.active = count.total - count.experts;
  if (model.experts)
    count.active += count.experts / model.experts->count * model.experts->per_token;
  return count;
}

double attention_core_flop(const Transformer& model, int64_t sequence, FlopConvention convention) {
  const auto s = static_cast<double>(sequence);
  const auto width = static_cast<double>(model.query_width() + model.attention_output_width());
  const bool is_half = model.causal && convention == FlopConvention::halved;
  return 2 * s * s * width * (is_half ? 0.5 : 1);
}

double sequence_flop(const Transformer& model, int64_t sequence, FlopConvention convention) {
  const int64_t dense_layers = model.dense_layers();
  auto matrices = [&](bool has_experts) {
    const LayerParameters layer = layer_parameters(model, has_experts);
    double all =
        static_cast<double>(layer.attention_matrices) + static_cast<double>(layer.mlp_matrices);
    if (has_experts) {
      const Experts& experts = *model.experts;
      all += static_cast<double>(model.hidden) * static_cast<double>(experts.count);
      all += static_cast<double>(layer.experts) / static_cast<double>(experts.count) *
             static_cast<double>(experts.per_token);
    }
    return all;
  };
  double weights = static_cast<double>(dense_layers) * matrices(false);
  if (model.experts) weights += static_cast<double>(model.layers - dense_layers) * matrices(true);
  const double head = static_cast<double>(model.vocabulary) * static_cast<double>(model.hidden);
  const auto s = static_cast<double>(sequence);
  double forward = 2 * s * weights + static_cast<double>(model.layers) *
                                         attention_core_flop(model, sequence, convention);
  if (model.patches) {
    const double values =
        static_cast<double>(model.patches->side * model.patches->side * model.patches->channels);
    forward += 2 * head + 2 * (s - 1) * values * static_cast<double>(model.hidden);
  } else {
    forward += 2 * s * head;
  }
  return 3 * forward;
}

void check_transformer(const Transformer& model, const std::string& where) {
  if (!model.latent && model.heads % model.kv_heads != 0)
    fail(where, "the " + std::to_string(model.heads) + " heads do not divide among " +
                    std::to_string(model.kv_heads) +
                    " heads of keys and values; expected a divisor of the heads");
  if (model.experts) check_experts(model, where);
  if (!(rough_parameters(model) <= most_model_parameters))
    fail(where, "these dimensions make more than 10^15 parameters; expected a smaller model");
}

}  // namespace sgdsim
