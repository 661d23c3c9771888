// Families whose layers, or some of them, have experts.
#include "models/training/families/family.h"

namespace sgdsim {
namespace {

using enum AttentionBias;

constexpr Family expert_rows[] = {
    {.name = "mixtral", .windows = Windows::all, .has_experts = true, .experts_are_mlps = true},
    {.name = "qwen2_moe",
     .otherwise = R"({"qkv_bias": true, "use_sliding_window": false, "max_window_layers": 28})",
     .bias = qkv,
     .bias_key = "qkv_bias",
     .windows = Windows::upper,
     .has_experts = true,
     .read = read_qwen2_moe},
    {.name = "qwen3_moe",
     .otherwise = R"({"head_dim": 128, "use_sliding_window": false})",
     .bias = all,
     .bias_key = "attention_bias",
     .query_key_norm = QueryKeyNorm::head,
     .has_experts = true},
    {.name = "deepseek_v2", .has_experts = true, .is_latent = true},
    {.name = "deepseek_v3", .has_experts = true, .router_bias = true, .is_latent = true},
    {.name = "deepseek_v32",
     .has_experts = true,
     .router_bias = true,
     .is_latent = true,
     .read = read_indexer_keys},
    {.name = "gpt_oss",
     .otherwise = R"({"attention_bias": true, "sliding_window": 128, "sliding_window_pattern": 2})",
     .bias = all,
     .bias_key = "attention_bias",
     .windows = Windows::pattern,
     .has_experts = true,
     .experts_are_mlps = true,
     .router_bias = true,
     .read = read_gpt_oss},
    {.name = "llama4_text",
     .otherwise = R"({"attention_chunk_size": 8192, "interleave_moe_layer_step": 1,
                      "no_rope_layer_interval": 4, "n_shared_experts": 1})",
     .bias = all,
     .bias_key = "attention_bias",
     .has_experts = true,
     .experts_are_mlps = true,
     .read = read_llama4},
    {.name = "glm4_moe",
     .bias = qkv,
     .bias_key = "attention_bias",
     .query_key_norm = QueryKeyNorm::head,
     .query_key_norm_key = "use_qk_norm",
     .has_experts = true,
     .router_bias = true},
    {.name = "dots1",
     .query_key_norm = QueryKeyNorm::head,
     .windows = Windows::upper,
     .has_experts = true,
     .router_bias = true},
    {.name = "minimax_m2",
     .otherwise = R"({"use_qk_norm": true})",
     .query_key_norm = QueryKeyNorm::all,
     .query_key_norm_key = "use_qk_norm",
     .has_experts = true,
     .experts_are_mlps = true,
     .router_bias = true},
    {.name = "phimoe",
     .otherwise = R"({"attention_bias": true})",
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
     .otherwise = R"({"tie_word_embeddings": true, "moe_num_shared_experts": 2})",
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
    {.name = "dbrx", .norm = Norm::scale, .has_experts = true, .experts_are_mlps = true},
};

}  // namespace

std::span<const Family> expert_families() { return expert_rows; }

void read_qwen2_moe(const Keys& /*keys*/, Transformer& model) {
  model.experts->shared_gate = model.experts->shared > 0;
}

void read_gpt_oss(const Keys& /*keys*/, Transformer& model) {
  model.sinks = true;
  model.experts->bias = true;
}

// Layers with rotation attend within blocks; every fourth has no rotation and attends to all.
void read_llama4(const Keys& keys, Transformer& model) {
  model.mlp_width = keys.whole_or({"intermediate_size_mlp"}, model.mlp_width, 1, most_width);
  if (keys.has("layer_types") || !keys.has("attention_chunk_size")) return;
  const int64_t period = keys.whole({"no_rope_layer_interval"}, 1, most_model_layers);
  if (period == 1) return;
  model.window =
      Window{.size = keys.whole({"attention_chunk_size"}, 1, most_sequence), .in_blocks = true};
  model.mixing_pattern.assign(static_cast<std::size_t>(period), Mixing::window);
  model.mixing_pattern.back() = Mixing::full;
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

void read_indexer_keys(const Keys& keys, Transformer& model) {
  model.indexer = Indexer{.heads = keys.whole({"index_n_heads"}, 1, most_heads),
                          .size = keys.whole({"index_head_dim"}, 1, most_heads),
                          .top = keys.whole({"index_topk"}, 1, most_sequence)};
}

}  // namespace sgdsim
