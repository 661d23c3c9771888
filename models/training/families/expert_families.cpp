// Families whose layers, or some of them, have experts.
#include <algorithm>

#include "models/training/families/family.h"

namespace sgdsim {
namespace {

using enum AttentionBias;

constexpr Family expert_rows[] = {
    {.name = "mixtral",
     .otherwise = R"({"num_key_value_heads": 8})",
     .windows = Windows::all,
     .has_experts = true,
     .experts_are_mlps = true},
    {.name = "qwen2_moe",
     .otherwise = R"({"num_key_value_heads": 16, "qkv_bias": true, "use_sliding_window": false,
                      "max_window_layers": 28})",
     .bias = qkv,
     .bias_key = "qkv_bias",
     .windows = Windows::upper,
     .has_experts = true,
     .read = read_qwen2_moe},
    {.name = "qwen3_moe",
     .otherwise = R"({"num_key_value_heads": 4, "use_sliding_window": false})",
     .bias = all,
     .bias_key = "attention_bias",
     .query_key_norm = QueryKeyNorm::head,
     .has_experts = true},
    {.name = "deepseek_v2",
     .otherwise = R"({"n_shared_experts": 2})",
     .has_experts = true,
     .is_latent = true},
    {.name = "deepseek_v3",
     .otherwise = R"({"n_shared_experts": 1, "first_k_dense_replace": 3, "n_group": 8,
                      "topk_group": 4})",
     .has_experts = true,
     .router_bias = true,
     .is_latent = true},
    {.name = "deepseek_v32",
     .has_experts = true,
     .router_bias = true,
     .is_latent = true,
     .read = read_indexer_keys},
    {.name = "gpt_oss",
     .otherwise = R"({"num_key_value_heads": 8, "head_dim": 64, "attention_bias": true,
                      "sliding_window": 128, "sliding_window_pattern": 2})",
     .bias = all,
     .bias_key = "attention_bias",
     .windows = Windows::pattern,
     .has_experts = true,
     .experts_are_mlps = true,
     .router_bias = true,
     .read = read_gpt_oss},
    {.name = "llama4_text",
     .otherwise = R"({"num_key_value_heads": 8, "head_dim": 128, "intermediate_size_mlp": 16384,
                      "attention_chunk_size": 8192, "interleave_moe_layer_step": 1,
                      "no_rope_layer_interval": 4, "n_shared_experts": 1})",
     .bias = all,
     .bias_key = "attention_bias",
     .has_experts = true,
     .experts_are_mlps = true,
     .read = read_llama4},
    {.name = "glm4_moe",
     .otherwise = R"({"num_key_value_heads": 8, "n_shared_experts": 1,
                      "first_k_dense_replace": 1})",
     .bias = qkv,
     .bias_key = "attention_bias",
     .query_key_norm = QueryKeyNorm::head,
     .query_key_norm_key = "use_qk_norm",
     .has_experts = true,
     .router_bias = true},
    {.name = "dots1",
     .otherwise = R"({"num_key_value_heads": 32, "sliding_window": 4096,
                      "max_window_layers": 62})",
     .query_key_norm = QueryKeyNorm::head,
     .windows = Windows::upper,
     .has_experts = true,
     .router_bias = true},
    {.name = "minimax_m2",
     .otherwise = R"({"num_key_value_heads": 8, "head_dim": 128, "use_qk_norm": true})",
     .query_key_norm = QueryKeyNorm::all,
     .query_key_norm_key = "use_qk_norm",
     .has_experts = true,
     .experts_are_mlps = true,
     .router_bias = true},
    {.name = "phimoe",
     .otherwise = R"({"num_key_value_heads": 8})",
     .norm = Norm::layer,
     .bias = all,
     .bias_key = "attention_bias",
     .windows = Windows::all,
     .has_experts = true,
     .experts_are_mlps = true,
     .read = read_phimoe},
    {.name = "olmoe",
     .bias = all,
     .bias_key = "attention_bias",
     .query_key_norm = QueryKeyNorm::all,
     .has_experts = true,
     .experts_are_mlps = true},
    {.name = "granitemoe",
     .bias = all,
     .bias_key = "attention_bias",
     .has_experts = true,
     .experts_are_mlps = true},
    {.name = "granitemoeshared",
     .bias = all,
     .bias_key = "attention_bias",
     .has_experts = true,
     .experts_are_mlps = true},
    {.name = "ernie4_5_moe",
     .otherwise = R"({"num_key_value_heads": 4, "tie_word_embeddings": true,
                      "moe_num_shared_experts": 2, "moe_layer_start_index": 1})",
     .bias = all,
     .bias_key = "use_bias",
     .mlp_bias_key = "use_bias",
     .has_experts = true,
     .router_bias = true},
    {.name = "hunyuan_v1_moe",
     .otherwise = R"({"use_qk_norm": true})",
     .bias = all,
     .bias_key = "attention_bias",
     .query_key_norm = QueryKeyNorm::head,
     .query_key_norm_key = "use_qk_norm",
     .has_experts = true,
     .read = read_hunyuan},
    {.name = "deepseek", .bias = all, .bias_key = "attention_bias", .has_experts = true},
    {.name = "bailing_moe",
     .bias = qkv,
     .bias_key = "use_qkv_bias",
     .query_key_norm = QueryKeyNorm::head,
     .query_key_norm_key = "use_qk_norm",
     .has_experts = true,
     .read = read_bailing},
    {.name = "afmoe",
     .otherwise = R"({"head_dim": 128, "num_shared_experts": 2, "num_dense_layers": 1,
                      "sliding_window": 1024, "sliding_window_pattern": 4})",
     .layer_norms = 4,
     .query_key_norm = QueryKeyNorm::head,
     .windows = Windows::pattern,
     .has_experts = true,
     .router_bias = true,
     .read = read_afmoe},
    {.name = "arctic", .has_experts = true, .experts_are_mlps = true, .read = read_arctic},
    {.name = "longcat_flash", .has_experts = true, .is_latent = true, .read = read_longcat},
    {.name = "exaone_moe",
     .otherwise = R"({"num_key_value_heads": 32, "num_shared_experts": 1,
                      "first_k_dense_replace": 1})",
     .query_key_norm = QueryKeyNorm::head,
     .has_experts = true,
     .router_bias = true,
     .read = read_exaone4},
    {.name = "grok-1", .layer_norms = 4, .has_experts = true, .experts_are_mlps = true},
    {.name = "dbrx",
     .otherwise = R"({"kv_n_heads": 1})",
     .norm = Norm::scale,
     .has_experts = true,
     .experts_are_mlps = true},
};

// Layers with rotation attend within blocks; every fourth, or those with a 0 in `no_rope_layers`,
// has no rotation and attends to all.
std::vector<Mixing> blocks_of_llama4(const Keys& keys, int64_t layers) {
  const std::vector<int64_t> rotates = keys.list_or_none("no_rope_layers", 1);
  std::vector<Mixing> kinds;
  for (const int64_t one : rotates) kinds.push_back(one == 1 ? Mixing::window : Mixing::full);
  if (kinds.empty()) {
    const int64_t period = keys.whole({"no_rope_layer_interval"}, 1, most_model_layers);
    kinds.assign(static_cast<std::size_t>(period), Mixing::window);
    kinds.back() = Mixing::full;
  } else if (static_cast<int64_t>(kinds.size()) != layers) {
    keys.value()
        .child("no_rope_layers")
        .fail("expected a number for each of the " + std::to_string(layers) + " layers, got " +
              std::to_string(kinds.size()));
  }
  return shortest_period(kinds);
}

}  // namespace

std::span<const Family> expert_families() { return expert_rows; }

void read_qwen2_moe(const Keys& /*keys*/, Transformer& model) {
  model.experts->shared_gate = model.experts->shared > 0;
}

void read_gpt_oss(const Keys& /*keys*/, Transformer& model) {
  model.sinks = true;
  model.experts->bias = true;
  model.experts->limited = true;
}

void read_llama4(const Keys& keys, Transformer& model) {
  model.mlp_width = keys.whole_or({"intermediate_size_mlp"}, model.mlp_width, 1, most_width);
  if (model.mlp_pattern == std::vector<Mlp>{Mlp::dense}) {
    model.experts.reset();
    model.mlp_pattern.clear();
  }
  if (keys.has("layer_types") || !keys.has("attention_chunk_size")) return;
  const std::vector<Mixing> kinds = blocks_of_llama4(keys, model.layers);
  if (kinds == std::vector<Mixing>{Mixing::full}) return;
  model.window =
      Window{.size = keys.whole({"attention_chunk_size"}, 1, most_sequence), .in_blocks = true};
  model.mixing_pattern = kinds;
}

void read_phimoe(const Keys& keys, Transformer& model) {
  model.head_bias = keys.flag_or({"lm_head_bias"}, false);
}

void read_hunyuan(const Keys& keys, Transformer& model) {
  if (keys.flag_or({"use_cla"}, false))
    keys.value().child("use_cla").fail("layers that share keys and values are not modelled");
  if (model.experts && model.experts->shared == 0 && keys.flag_or({"use_mixed_mlp_moe"}, false))
    model.experts->shared = 1;
}

void read_bailing(const Keys& keys, Transformer& model) {
  if (keys.flag_or({"use_bias"}, false))
    keys.value()
        .child("use_bias")
        .fail("biases of the last matrix of attention alone are not modelled");
  model.experts->router_bias = keys.flag_or({"moe_router_enable_expert_bias"}, false);
}

void read_afmoe(const Keys& /*keys*/, Transformer& model) { model.output_gate = true; }

// A dense MLP, as wide as the hidden state and with a norm of its own, beside the experts.
void read_arctic(const Keys& keys, Transformer& model) {
  if (!keys.flag_or({"parallel_attn_mlp_res"}, true)) return;
  model.layer_norms = 3;
  model.experts->shared = 1;
  model.experts->shared_width = model.hidden;
}

// A layer of the file is attention and a dense MLP, twice; its experts, of which some are nothing,
// take the input of the first MLP and are added at the end.
void read_longcat(const Keys& keys, Transformer& model) {
  Experts& experts = *model.experts;
  if (2 * model.layers > most_model_layers)
    keys.value().fail("expected at most " + std::to_string(most_model_layers / 2) + " layers");
  model.layers *= 2;
  model.mlp_pattern = {Mlp::experts, Mlp::dense};
  experts.shared = 1;
  experts.shared_width = experts.width == model.mlp_width ? 0 : model.mlp_width;
  experts.router_bias = true;
  experts.empty = keys.whole_or({"zero_expert_num"}, 0, 0, most_experts);
  const int64_t chosen = experts.per_token;
  const int64_t choices = experts.choices();
  experts.per_token = std::max<int64_t>(1, (2 * chosen * experts.count + choices) / (2 * choices));
  model.notes.emplace_back(
      "each layer is counted as two layers of attention and an MLP, the first with experts beside "
      "it: what they exchange is not hidden under the second");
  if (experts.empty > 0)
    model.notes.push_back("of the " + std::to_string(chosen) + " experts that a token chooses, " +
                          std::to_string(experts.per_token) +
                          " are taken to compute, as many as if it chose evenly among all " +
                          std::to_string(choices));
}

void read_indexer_keys(const Keys& keys, Transformer& model) {
  model.indexer = Indexer{.heads = keys.whole({"index_n_heads"}, 1, most_heads),
                          .size = keys.whole({"index_head_dim"}, 1, most_heads),
                          .top = keys.whole({"index_topk"}, 1, most_sequence)};
}

}  // namespace sgdsim
