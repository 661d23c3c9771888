// Counting. Totals are checked in floating point first, so that no product of 64 bits wraps around.
#include "models/training/transformer.h"

#include <algorithm>

#include "sim/core/cast.h"
#include "sim/core/error.h"

namespace sgdsim {
namespace {

constexpr double most_model_parameters = 1e15;

// An upper bound that cannot overflow.
double rough_parameters(const Transformer& model) {
  const double h = real(model.hidden);
  double layer = h * real(model.heads) * real(model.head_size) * 5 + 3 * h * real(model.mlp_width);
  if (model.experts) {
    const Experts& experts = *model.experts;
    layer += 4 * real(experts.width) * real(experts.count) *
                 real(std::max(experts.input, model.hidden)) +
             real(experts.choices()) * (h + 1) + 2 * real(experts.input) * h;
    layer += 3 * real(experts.shared) * real(std::max(experts.width, experts.shared_width)) * h;
  }
  if (model.latent) {
    const LatentAttention& latent = *model.latent;
    const double head =
        real(latent.plain_size) + real(latent.rotary_size) + real(latent.value_size);
    layer += (h + real(model.heads) * head) *
             (real(latent.query_rank) + real(latent.kv_rank) + real(latent.rotary_size) + 2 * h);
  }
  if (const auto& window = model.window)
    layer += h * real(std::max(window->heads, model.heads)) *
             real(std::max(window->head_size, model.head_size)) * 5;
  if (const auto& indexer = model.indexer)
    layer += (h + real(model.latent ? model.latent->query_rank : 0)) * (real(indexer->heads) + 1) *
             (real(indexer->size) + 1);
  if (const auto& linear = model.linear) {
    const double width = real(linear->key_heads) * real(linear->key_size) +
                         real(linear->value_heads) * real(linear->value_size + 1);
    layer += width * (3 * h + 2 * real(linear->kernel) + 2 * real(linear->rank) +
                      3 * real(linear->key_size) + 8) +
             2 * h * real(linear->rank);
  }
  return real(model.layers) * (layer + 20 * h) +
         2 * (h + 1) * real(model.vocabulary + model.hidden) + h * real(model.positions);
}

[[noreturn]] void fail(const std::string& where, const std::string& sentence) {
  throw InputError(where, sentence);
}

void check_experts(const Transformer& model, const std::string& where) {
  const Experts& experts = *model.experts;
  if (experts.per_token > experts.count)
    fail(where, "a token visits " + std::to_string(experts.per_token) + " of " +
                    std::to_string(experts.count) + " experts; expected at most all of them");
  if (experts.count % experts.groups != 0)
    fail(where, "the " + std::to_string(experts.count) + " experts do not divide by " +
                    std::to_string(experts.groups) + " groups; expected a divisor");
  if (experts.groups_taken > experts.groups)
    fail(where, "the experts of a token are in " + std::to_string(experts.groups_taken) + " of " +
                    std::to_string(experts.groups) + " groups; expected at most all of them");
  const int64_t choices = experts.count / experts.groups * experts.groups_taken;
  if (experts.per_token > choices)
    fail(where, "a token visits " + std::to_string(experts.per_token) + " experts, and the " +
                    std::to_string(experts.groups_taken) + " groups in which it does have " +
                    std::to_string(choices) + "; expected more groups_taken");
  if (experts.first_dense > model.layers)
    fail(where, "the first " + std::to_string(experts.first_dense) +
                    " layers have no experts, but there are only " + std::to_string(model.layers));
}

void check_heads(const std::string& where, int64_t heads, int64_t kv_heads) {
  if (heads % kv_heads != 0)
    fail(where, "the " + std::to_string(heads) + " heads do not divide among " +
                    std::to_string(kv_heads) +
                    " heads of keys and values; expected a divisor of the heads");
}

struct Breach {
  bool is_one;
  const char* sentence;
};
void check_none(const std::vector<Breach>& breaches, const std::string& where) {
  for (const Breach& breach : breaches)
    if (breach.is_one) fail(where, breach.sentence);
}

// What the pattern names must be there, and what is there must be named.
void check_pattern(const Transformer& model, const std::string& where) {
  const OfKinds<int64_t> kinds = model.kinds();
  bool mixes[mixings.size()] = {};
  bool follows[mlps.size()] = {};
  bool is_empty = false;
  bool is_single = false;
  for (std::size_t i = 0; i < most_kinds; ++i) {
    if (kinds[i] == 0) continue;
    const auto [mixing, mlp] = kind_at(i);
    mixes[static_cast<std::size_t>(mixing)] = follows[static_cast<std::size_t>(mlp)] = true;
    is_single = is_single || mixing == Mixing::none || mlp == Mlp::none;
    is_empty = is_empty || (mixing == Mixing::none && mlp == Mlp::none);
  }
  const bool is_full = mixes[static_cast<std::size_t>(Mixing::full)];
  const bool is_window = mixes[static_cast<std::size_t>(Mixing::window)];
  const bool is_linear = mixes[static_cast<std::size_t>(Mixing::linear)];
  const bool is_experts = follows[static_cast<std::size_t>(Mlp::experts)];
  const bool is_dense = follows[static_cast<std::size_t>(Mlp::dense)];
  const bool all_first = model.experts && model.experts->first_dense >= model.layers;
  check_none(
      {{is_window && !model.window, "layers of the pattern have a window; give \"window\""},
       {!is_window && model.window.has_value(), "no layer of the pattern has the window"},
       {is_linear && !model.linear, "layers of the pattern are linear; give \"linear\""},
       {!is_linear && model.linear.has_value(), "no layer of the pattern is linear"},
       {is_experts && !model.experts, "layers of the pattern have experts; give \"experts\""},
       {!is_experts && model.experts && !all_first, "no layer of the pattern has the experts"},
       {!is_full && model.indexer.has_value(),
        "no layer of the pattern has full attention, which "
        "the indexer would make sparse"},
       {is_dense && model.mlp_width == 0, "dense layers need an MLP; its width is 0"},
       {(is_full || is_window) && model.heads == 0, "layers attend, but there are 0 heads"},
       {is_empty, "a layer of the pattern has neither attention nor an MLP"},
       {is_single && model.layer_norms % 2 != 0,
        "layers of one part have half of the norms; expected an even number of norms of a layer"},
       {model.parallel && is_single,
        "attention and MLP are side by side (parallel), but a layer of the pattern lacks one"}},
      where);
}

void check_mixing(const Transformer& model, const std::string& where) {
  const bool is_masked = model.window || model.linear || model.indexer;
  const bool has_heads = model.window && (model.window->heads > 0 || model.window->kv_heads > 0 ||
                                          model.window->head_size > 0);
  check_none({{!model.causal && is_masked,
               "windows, linear and sparse attention are modelled where attention is causal"},
              {model.latent && model.query_key_norm != QueryKeyNorm::none,
               "latent attention has norms of its own; leave \"query_key_norm\" out"},
              {model.latent && has_heads, "latent attention has the same heads in every layer"},
              {model.layer_norms == 1 && !model.parallel,
               "one norm of a layer is for attention and MLP side by side (parallel)"}},
             where);
  if (model.linear && model.linear->value_heads % model.linear->key_heads != 0)
    fail(where, "the " + std::to_string(model.linear->value_heads) +
                    " heads of values of linear layers do not divide among " +
                    std::to_string(model.linear->key_heads) + " heads of keys");
}

}  // namespace

LayerKind Transformer::layer(int64_t number) const {
  LayerKind kind;
  if (!mixing_pattern.empty()) kind.mixing = mixing_pattern[at(number) % mixing_pattern.size()];
  if (!mlp_pattern.empty())
    kind.mlp = mlp_pattern[at(number) % mlp_pattern.size()];
  else if (experts)
    kind.mlp = Mlp::experts;
  if (kind.has_experts() && experts && number < experts->first_dense) kind.mlp = Mlp::dense;
  return kind;
}

OfKinds<int64_t> Transformer::kinds(int64_t from, int64_t to) const {
  OfKinds<int64_t> count{};
  if (mixing_pattern.empty() && mlp_pattern.empty()) {
    const int64_t first = !experts ? to : experts->first_dense;
    const int64_t dense = std::clamp<int64_t>(first - from, 0, std::max<int64_t>(to - from, 0));
    count[LayerKind{}.index()] = dense;
    count[LayerKind{.mlp = Mlp::experts}.index()] = to - from - dense;
    return count;
  }
  for (int64_t number = from; number < to; ++number) ++count[layer(number).index()];
  return count;
}

bool Transformer::mixes(Mixing mixing) const {
  const OfKinds<int64_t> all = kinds();
  for (std::size_t i = 0; i < most_kinds; ++i)
    if (all[i] > 0 && kind_at(i).mixing == mixing) return true;
  return false;
}

int64_t Transformer::norm_parameters() const {
  switch (norm) {
    case Norm::rms:
    case Norm::scale:
      return hidden;
    case Norm::layer:
      return 2 * hidden;
    case Norm::bare:
      break;
  }
  return 0;
}

double Transformer::more_norms(LayerKind kind) const {
  const bool is_single = kind.mixing == Mixing::none || kind.mlp == Mlp::none;
  return layer_norms <= 2 ? 0 : real(layer_norms - 2) / (is_single ? 2 : 1);
}

LayerParameters layer_parameters(const Transformer& model, LayerKind kind) {
  LayerParameters layer;
  const int64_t h = model.hidden;
  const bool has_both = kind.mixing != Mixing::none && kind.mlp != Mlp::none;
  layer.norms = model.layer_norms * model.norm_parameters() / (has_both ? 1 : 2);
  layer.mixing = mixing_parameters(model, kind.mixing);
  const int64_t matrices = model.mlp_matrices();
  switch (kind.mlp) {
    case Mlp::dense:
      layer.mlp_matrices = matrices * h * model.mlp_width;
      if (model.mlp_bias) layer.mlp_biases = (matrices - 1) * model.mlp_width + h;
      break;
    case Mlp::experts: {
      const Experts& experts = *model.experts;
      const int64_t input = model.expert_input();
      layer.router = h * experts.choices() + (experts.router_bias ? experts.choices() : 0) +
                     (experts.shared_gate ? h : 0) + 2 * h * experts.input;
      layer.experts = matrices * input * experts.width * experts.count;
      if (experts.bias)
        layer.expert_biases = ((matrices - 1) * experts.width + input) * experts.count;
      layer.mlp_matrices = matrices * h * experts.all_shared_width();
      break;
    }
    case Mlp::none:
      break;
  }
  return layer;
}

ParameterCount end_parameters(const Transformer& model) {
  ParameterCount count;
  const int64_t h = model.hidden;
  if (model.patches) {
    const int64_t values = model.patches->side * model.patches->side * model.patches->channels;
    count.embedding = values * h + h + h;  // a bias, and the vector that stands for all
    count.head = model.vocabulary * h + model.vocabulary;
  } else {
    count.embedding = model.vocabulary * h;
    count.head = model.tied ? 0 : model.vocabulary * h;
    if (model.head_bias) count.head += model.vocabulary;
    if (model.head_matrix) count.head += h * h + h;
  }
  count.positions = model.positions * h;
  return count;
}

ParameterCount parameters_of(const Transformer& model) {
  ParameterCount count = end_parameters(model);
  count.norms = model.norm_parameters() * (model.embedding_norm ? 2 : 1);  // the last one
  const OfKinds<int64_t> kinds = model.kinds();
  for (std::size_t i = 0; i < most_kinds; ++i) {
    if (kinds[i] == 0) continue;
    const LayerParameters layer = layer_parameters(model, kind_at(i));
    count.attention += kinds[i] * (layer.mixing.matrices + layer.mixing.biases);
    count.mlp += kinds[i] * (layer.mlp_matrices + layer.mlp_biases);
    count.router += kinds[i] * layer.router;
    count.experts += kinds[i] * (layer.experts + layer.expert_biases);
    count.norms += kinds[i] * (layer.norms + layer.mixing.norms);
  }
  count.total = count.embedding + count.positions + count.attention + count.mlp + count.router +
                count.experts + count.norms + count.head;
  count.active = count.total - count.experts;
  if (model.experts)
    count.active += count.experts / model.experts->count * model.experts->per_token;
  return count;
}

namespace {

// Weights of matrices that one token meets in a layer of this kind.
double weights_of_token(const Transformer& model, LayerKind kind) {
  const LayerParameters layer = layer_parameters(model, kind);
  double all = real(layer.mixing.matrices) + real(layer.mlp_matrices);
  if (kind.has_experts()) {
    const Experts& experts = *model.experts;
    all += real(model.hidden) *
           real(experts.choices() + (experts.shared_gate ? 1 : 0) + 2 * experts.input);
    all += real(layer.experts) / real(experts.count) * real(experts.per_token);
  }
  return all;
}

// Of all layers.
double weights_of_layers(const Transformer& model) {
  const OfKinds<int64_t> kinds = model.kinds();
  double weights = 0;
  for (std::size_t i = 0; i < most_kinds; ++i)
    if (kinds[i] > 0) weights += real(kinds[i]) * weights_of_token(model, kind_at(i));
  return weights;
}

double core_of_layers(const Transformer& model, int64_t sequence, FlopConvention convention) {
  const OfKinds<int64_t> kinds = model.kinds();
  double core = 0;
  for (std::size_t i = 0; i < most_kinds; ++i)
    if (kinds[i] > 0)
      core += real(kinds[i]) * attention_core_flop(model, kind_at(i).mixing, sequence, convention);
  return core;
}

// Behind the layers, and of images before them.
double ends_flop(const Transformer& model, double s) {
  const double head =
      real(model.vocabulary + (model.head_matrix ? model.hidden : 0)) * real(model.hidden);
  if (!model.patches) return 2 * s * head;
  const double values = real(model.patches->side * model.patches->side * model.patches->channels);
  return 2 * head + 2 * (s - 1) * values * real(model.hidden);
}

LayerKind last_kind(const Transformer& model) { return model.layer(model.layers - 1); }

}  // namespace

double sequence_flop(const Transformer& model, int64_t sequence, FlopConvention convention) {
  const auto s = real(sequence);
  const double forward =
      2 * s * weights_of_layers(model) + core_of_layers(model, sequence, convention);
  return 3 * (forward + ends_flop(model, s));
}

double sequence_product_flop(const Transformer& model, int64_t sequence) {
  const auto s = real(sequence);
  return 2 * s * weights_of_layers(model) + ends_flop(model, s);
}

int64_t prediction_parameters(const Transformer& model) {
  const LayerParameters layer = layer_parameters(model, last_kind(model));
  return layer.mixing.matrices + layer.mixing.biases + layer.mixing.norms + layer.mlp_matrices +
         layer.mlp_biases + layer.router + layer.experts + layer.expert_biases + layer.norms +
         2 * model.hidden * model.hidden + 3 * model.norm_parameters();
}

double prediction_product_flop(const Transformer& model, int64_t sequence) {
  const double h = real(model.hidden);
  return 2 * real(sequence) *
         (weights_of_token(model, last_kind(model)) + 2 * h * h + real(model.vocabulary) * h);
}

double prediction_flop(const Transformer& model, int64_t sequence, FlopConvention convention) {
  return 3 * (prediction_product_flop(model, sequence) +
              attention_core_flop(model, last_kind(model).mixing, sequence, convention));
}

std::vector<std::string> notes_on(const Transformer& model, int64_t sequence) {
  std::vector<std::string> notes = model.notes;
  if (model.longest > 0 && sequence > model.longest)
    notes.push_back("a sequence of " + std::to_string(sequence) + " is longer than the " +
                    std::to_string(model.longest) + " positions that the model is made for");
  return notes;
}

void check_transformer(const Transformer& model, const std::string& where) {
  check_pattern(model, where);
  check_mixing(model, where);
  for (const Mixing mixing : {Mixing::full, Mixing::window}) {
    if (model.latent || model.heads == 0 || (mixing == Mixing::window && !model.window)) continue;
    const AttentionWidths widths = attention_widths(model, mixing);
    check_heads(where, widths.heads, widths.kv_heads);
  }
  if (model.experts) check_experts(model, where);
  if (model.patches && model.predictions > 0)
    fail(where, "a model of patches predicts no further tokens; leave \"predictions\" out");
  if (!(rough_parameters(model) <= most_model_parameters))
    fail(where, "these dimensions make more than 10^15 parameters; expected a smaller model");
}

}  // namespace sgdsim
