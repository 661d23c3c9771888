// Families with linear attention or states in some layers.
#include <algorithm>

#include "models/training/families/family.h"
#include "sim/core/cast.h"

namespace sgdsim {
namespace {

using enum AttentionBias;

constexpr char qwen3_next_keys[] =
    R"({"num_key_value_heads": 2, "head_dim": 256, "full_attention_interval": 4, "decoder_sparse_step": 1,
        "linear_num_key_heads": 16, "linear_num_value_heads": 32, "linear_key_head_dim": 128,
        "linear_value_head_dim": 128, "linear_conv_kernel_dim": 4})";
constexpr char qwen3_5_keys[] =
    R"({"num_key_value_heads": 4, "head_dim": 256, "full_attention_interval": 4,
        "linear_num_key_heads": 16, "linear_num_value_heads": 32, "linear_key_head_dim": 128,
        "linear_value_head_dim": 128, "linear_conv_kernel_dim": 4})";
constexpr char bamba_keys[] =
    R"({"num_key_value_heads": 8, "mamba_n_groups": 1, "mamba_d_state": 256, "mamba_d_conv": 4,
        "mamba_expand": 2, "mamba_chunk_size": 256, "mamba_conv_bias": true,
        "mamba_proj_bias": false})";
constexpr char mamba_hybrid_keys[] =
    R"({"mamba_n_groups": 1, "mamba_d_state": 256, "mamba_d_conv": 4, "mamba_expand": 2,
        "mamba_chunk_size": 256, "mamba_conv_bias": true, "mamba_proj_bias": false})";

constexpr Family linear_rows[] = {
    {.name = "qwen3_next",
     .otherwise = qwen3_next_keys,
     .bias = all,
     .bias_key = "attention_bias",
     .query_key_norm = QueryKeyNorm::head,
     .has_experts = true,
     .read = read_qwen3_next},
    {.name = "qwen3_5",
     .otherwise = qwen3_5_keys,
     .bias = all,
     .bias_key = "attention_bias",
     .query_key_norm = QueryKeyNorm::head,
     .read = read_qwen3_next},
    {.name = "mamba2",
     .otherwise = R"({"hidden_size": 4096, "num_hidden_layers": 64, "vocab_size": 32768,
                      "num_heads": 128, "head_dim": 64, "state_size": 128, "n_groups": 8,
                      "expand": 2, "conv_kernel": 4, "chunk_size": 256, "use_conv_bias": true,
                      "use_bias": false})",
     .attends = false,
     .read = read_mamba2},
    {.name = "mamba",
     .otherwise = R"({"state_size": 16, "expand": 2, "conv_kernel": 4, "use_conv_bias": true,
                      "use_bias": false, "tie_word_embeddings": true})",
     .attends = false,
     .read = read_mamba},
    {.name = "falcon_mamba",
     .otherwise = R"({"state_size": 16, "expand": 2, "conv_kernel": 4, "use_conv_bias": true,
                      "use_bias": false, "tie_word_embeddings": true})",
     .attends = false,
     .read = read_mamba},
    {.name = "jamba",
     .otherwise =
         R"({"num_key_value_heads": 8, "attn_layer_period": 8, "attn_layer_offset": 4, "expert_layer_period": 2,
                      "expert_layer_offset": 1, "mamba_d_state": 16, "mamba_d_conv": 4,
                      "mamba_expand": 2, "mamba_conv_bias": true, "mamba_proj_bias": false})",
     .has_experts = true,
     .experts_are_mlps = true,
     .read = read_jamba},
    {.name = "bamba", .otherwise = bamba_keys, .read = read_bamba},
    {.name = "granitemoehybrid",
     .otherwise = mamba_hybrid_keys,
     .bias = all,
     .bias_key = "attention_bias",
     .may_have_experts = true,
     .experts_are_mlps = true,
     .read = read_granite_hybrid},
    {.name = "nemotron_h",
     .otherwise = R"({"num_key_value_heads": 8, "attention_head_dim": 128, "conv_kernel": 4,
                      "chunk_size": 128, "use_conv_bias": true,
                      "use_bias": false, "n_groups": 8, "ssm_state_size": 128})",
     .gated = false,
     .bias = all,
     .bias_key = "attention_bias",
     .mlp_bias_key = "mlp_bias",
     .may_have_experts = true,
     .router_bias = true,
     .read = read_nemotron_h},
    {.name = "kimi_linear",
     .may_have_experts = true,
     .router_bias = true,
     .is_latent = true,
     .read = read_kimi_linear},
    {.name = "minimax",
     .otherwise = R"({"num_key_value_heads": 8, "block_size": 256})",
     .has_experts = true,
     .experts_are_mlps = true,
     .read = read_minimax},
};

std::vector<Mixing> period_of(const Transformer& model, int64_t period, int64_t attends_at) {
  std::vector<Mixing> kinds(at(model.layers));
  for (int64_t i = 0; i < model.layers; ++i)
    kinds[at(i)] = i % period == attends_at ? Mixing::full : Mixing::linear;
  return shortest_period(kinds);
}

// Mamba-2 of a hybrid model, by the names of its keys.
struct Mamba2Names {
  const char* heads;
  const char* head_size;
  const char* states;
  const char* groups;
  const char* kernel;
  const char* chunk;
  const char* kernel_bias;
  const char* bias;
};
LinearMixing mamba2_of(const Keys& keys, const Mamba2Names& names) {
  return {.kind = LinearKind::mamba2,
          .key_heads = keys.whole({names.groups}, 1, most_heads),
          .key_size = keys.whole({names.states}, 1, most_heads),
          .value_heads = keys.whole({names.heads}, 1, most_heads),
          .value_size = keys.whole({names.head_size}, 1, most_heads),
          .kernel = keys.whole({names.kernel}, 1, 1024),
          .chunk = keys.whole({names.chunk}, 1, most_sequence),
          .kernel_bias = keys.flag_or({names.kernel_bias}, true),
          .bias = keys.flag_or({names.bias}, false)};
}

// Heads whose width is said to be what makes all of them as wide as the expanded hidden state.
LinearMixing hybrid_mamba2(const Keys& keys, const Transformer& model) {
  const int64_t heads = keys.whole({"mamba_n_heads"}, 1, most_heads);
  const int64_t inner = keys.whole({"mamba_expand"}, 1, 64) * model.hidden;
  const bool says_size =
      keys.has("mamba_d_head") && keys.value().child("mamba_d_head").json().is_number();
  if (!says_size && inner % heads != 0)
    keys.value()
        .child("mamba_n_heads")
        .fail("the " + std::to_string(inner) + " numbers do not divide among the heads");
  return {.kind = LinearKind::mamba2,
          .key_heads = keys.whole({"mamba_n_groups"}, 1, most_heads),
          .key_size = keys.whole({"mamba_d_state"}, 1, most_heads),
          .value_heads = heads,
          .value_size = says_size ? keys.whole({"mamba_d_head"}, 1, most_heads) : inner / heads,
          .kernel = keys.whole({"mamba_d_conv"}, 1, 1024),
          .chunk = keys.whole({"mamba_chunk_size"}, 1, most_sequence),
          .kernel_bias = keys.flag_or({"mamba_conv_bias"}, true),
          .bias = keys.flag_or({"mamba_proj_bias"}, false)};
}

// The vector that makes time steps, where the file says no number, has a sixteenth of the numbers.
int64_t rank_of(const Keys& keys, const std::string& name, const Transformer& model) {
  if (!keys.has(name) || keys.value().child(name).json().is_string())
    return (model.hidden + 15) / 16;
  return keys.whole({name}, 1, most_width);
}

}  // namespace

std::span<const Family> linear_families() { return linear_rows; }

void read_qwen3_next(const Keys& keys, Transformer& model) {
  model.output_gate = true;
  model.linear = LinearMixing{.kind = LinearKind::delta,
                              .key_heads = keys.whole({"linear_num_key_heads"}, 1, most_heads),
                              .key_size = keys.whole({"linear_key_head_dim"}, 1, most_heads),
                              .value_heads = keys.whole({"linear_num_value_heads"}, 1, most_heads),
                              .value_size = keys.whole({"linear_value_head_dim"}, 1, most_heads),
                              .kernel = keys.whole({"linear_conv_kernel_dim"}, 1, 1024)};
  if (model.experts) model.experts->shared_gate = model.experts->shared > 0;
  if (keys.has("layer_types")) return;
  const int64_t period = keys.whole({"full_attention_interval"}, 1, most_model_layers);
  model.mixing_pattern = period_of(model, period, period - 1);
}

void read_mamba2(const Keys& keys, Transformer& model) {
  model.linear = mamba2_of(keys, {.heads = "num_heads",
                                  .head_size = "head_dim",
                                  .states = "state_size",
                                  .groups = "n_groups",
                                  .kernel = "conv_kernel",
                                  .chunk = "chunk_size",
                                  .kernel_bias = "use_conv_bias",
                                  .bias = "use_bias"});
  model.mixing_pattern = {Mixing::linear};
  model.mlp_pattern = {Mlp::none};
}

void read_mamba(const Keys& keys, Transformer& model) {
  const int64_t inner = keys.whole_or({"intermediate_size", "d_inner"},
                                      keys.whole({"expand"}, 1, 64) * model.hidden, 1, most_width);
  model.linear = LinearMixing{.kind = LinearKind::mamba,
                              .key_size = keys.whole({"state_size"}, 1, most_heads),
                              .value_heads = inner,
                              .value_size = 1,
                              .kernel = keys.whole({"conv_kernel"}, 1, 1024),
                              .rank = rank_of(keys, "time_step_rank", model),
                              .kernel_bias = keys.flag_or({"use_conv_bias"}, true),
                              .bias = keys.flag_or({"use_bias"}, false)};
  model.mixing_pattern = {Mixing::linear};
  model.mlp_pattern = {Mlp::none};
}

void read_jamba(const Keys& keys, Transformer& model) {
  model.linear = LinearMixing{.kind = LinearKind::mamba,
                              .key_size = keys.whole({"mamba_d_state"}, 1, most_heads),
                              .value_heads = keys.whole({"mamba_expand"}, 1, 64) * model.hidden,
                              .value_size = 1,
                              .kernel = keys.whole({"mamba_d_conv"}, 1, 1024),
                              .rank = rank_of(keys, "mamba_dt_rank", model),
                              .kernel_bias = keys.flag_or({"mamba_conv_bias"}, true),
                              .bias = keys.flag_or({"mamba_proj_bias"}, false),
                              .norms_parts = true};
  const int64_t period = keys.whole({"attn_layer_period"}, 1, most_model_layers);
  model.mixing_pattern = period_of(model, period, keys.whole({"attn_layer_offset"}, 0, period - 1));
  const int64_t experts_period = keys.whole({"expert_layer_period"}, 1, most_model_layers);
  const int64_t offset = keys.whole({"expert_layer_offset"}, 0, experts_period - 1);
  std::vector<Mlp> kinds(at(model.layers));
  for (int64_t i = 0; i < model.layers; ++i)
    kinds[at(i)] = i % experts_period == offset ? Mlp::experts : Mlp::dense;
  model.mlp_pattern = shortest_period(kinds);
  if (model.experts->count > 1) return;
  model.experts.reset();  // one expert is an MLP
  model.mlp_pattern.clear();
}

void read_bamba(const Keys& keys, Transformer& model) {
  model.linear = hybrid_mamba2(keys, model);
  std::vector<Mixing> kinds(at(model.layers), Mixing::linear);
  for (const int64_t layer : keys.list_or_none("attn_layer_indices", most_model_layers))
    if (layer < model.layers) kinds[at(layer)] = Mixing::full;
  model.mixing_pattern = shortest_period(kinds);
}

// The MLP beside the experts is the only one where there are none.
void read_granite_hybrid(const Keys& keys, Transformer& model) {
  if (!model.experts) model.mlp_width = keys.whole({"shared_intermediate_size"}, 1, most_width);
  const auto& kinds = model.mixing_pattern;
  if (std::find(kinds.begin(), kinds.end(), Mixing::linear) != kinds.end())
    model.linear = hybrid_mamba2(keys, model);
}

// Newer files have a list of words.
std::string letters_of(const Value& pattern) {
  if (!pattern.json().is_array()) return pattern.text();
  constexpr Named<char, 4> words{{{"mamba", 'M'}, {"attention", '*'}, {"mlp", '-'}, {"moe", 'E'}}};
  std::string letters;
  for (const Value& item : pattern.items())
    letters += named_in(words, "kind of layers", item.text(), item.where());
  return letters;
}

// Each layer is one thing: M a state, * attention, - an MLP, E experts.
void read_nemotron_h(const Keys& keys, Transformer& model) {
  const Value pattern =
      keys.at({"hybrid_override_pattern", "layers_block_type"}, "a letter for each layer");
  const std::string letters = letters_of(pattern);
  if (static_cast<int64_t>(letters.size()) != model.layers)
    pattern.fail("expected a letter for each of the " + std::to_string(model.layers) +
                 " layers, got " + std::to_string(letters.size()));
  std::vector<Mixing> mixing;
  std::vector<Mlp> mlp;
  for (const char letter : letters) {
    const bool mixes = letter == 'M' || letter == '*';
    if (!mixes && letter != '-' && letter != 'E')
      pattern.fail("expected letters M, *, - and E, got '" + std::string(1, letter) + "'");
    mixing.push_back(letter == 'M' ? Mixing::linear : mixes ? Mixing::full : Mixing::none);
    mlp.push_back(mixes ? Mlp::none : letter == 'E' ? Mlp::experts : Mlp::dense);
  }
  model.mixing_pattern = shortest_period(mixing);
  model.mlp_pattern = shortest_period(mlp);
  if (letters.find('E') == std::string::npos)
    model.experts.reset();
  else
    model.experts->input = keys.whole_or({"moe_latent_size"}, 0, 1, most_width);
  if (letters.find('M') == std::string::npos) return;
  model.linear = mamba2_of(keys, {.heads = "mamba_num_heads",
                                  .head_size = "mamba_head_dim",
                                  .states = "ssm_state_size",
                                  .groups = "n_groups",
                                  .kernel = "conv_kernel",
                                  .chunk = "chunk_size",
                                  .kernel_bias = "use_conv_bias",
                                  .bias = "mamba_proj_bias"});
}

// Layers are counted from 1. Decays and gates come by vectors as wide as a head.
void read_kimi_linear(const Keys& keys, Transformer& model) {
  if (keys.whole_or({"attn_res_block_size"}, 0, 0, most_model_layers) > 0)
    keys.value()
        .child("attn_res_block_size")
        .fail("layers whose input is a mean of earlier ones are not modelled");
  if (keys.has("routed_expert_hidden_size"))
    keys.value()
        .child("routed_expert_hidden_size")
        .fail("norms of experts' narrower inputs are not modelled");
  const Keys linear(keys.at({"linear_attn_config"}, "heads and numbers of linear layers"), "{}");
  if (linear.flag_or({"use_full_rank_gate"}, false))
    keys.value()
        .child("linear_attn_config")
        .child("use_full_rank_gate")
        .fail("gates of linear layers that no narrow vector makes are not modelled");
  std::vector<Mixing> kinds(at(model.layers), Mixing::full);
  bool is_any = false;
  for (const int64_t layer : linear.list_or_none("kda_layers", most_model_layers))
    if (layer >= 1 && layer <= model.layers) {
      kinds[at(layer - 1)] = Mixing::linear;
      is_any = true;
    }
  if (!is_any) return;
  model.mixing_pattern = shortest_period(kinds);
  const int64_t heads = linear.whole({"num_heads"}, 1, most_heads);
  const int64_t size = linear.whole({"head_dim"}, 1, most_heads);
  model.linear = LinearMixing{.kind = LinearKind::kda,
                              .key_heads = heads,
                              .key_size = size,
                              .value_heads = heads,
                              .value_size = size,
                              .kernel = linear.whole({"short_conv_kernel_size"}, 1, 1024),
                              .rank = size};
}

// Lightning attention has as many heads for keys as for queries; older files say 0 for it in
// `attn_type_list`, and 1 for attention.
void read_minimax(const Keys& keys, Transformer& model) {
  if (!keys.has("layer_types")) {
    std::vector<Mixing> kinds;
    for (const int64_t kind : keys.list_or_none("attn_type_list", 1))
      kinds.push_back(kind == 1 ? Mixing::full : Mixing::linear);
    if (static_cast<int64_t>(kinds.size()) != model.layers)
      keys.value().fail("\"attn_type_list\" (or \"layer_types\") has " +
                        std::to_string(kinds.size()) + " entries, but there are " +
                        std::to_string(model.layers) + " layers");
    model.mixing_pattern = shortest_period(kinds);
  }
  const auto& kinds = model.mixing_pattern;
  if (std::find(kinds.begin(), kinds.end(), Mixing::linear) == kinds.end()) return;
  model.linear = LinearMixing{.kind = LinearKind::lightning,
                              .key_heads = model.heads,
                              .key_size = model.head_size,
                              .value_heads = model.heads,
                              .value_size = model.head_size,
                              .chunk = keys.whole({"block_size"}, 1, most_sequence)};
}

}  // namespace sgdsim
