// Families whose layers are attention and a dense MLP.
#include "models/training/families/family.h"
#include "sim/core/error.h"

namespace sgdsim {
namespace {

using enum AttentionBias;

constexpr Family attention_rows[] = {
    {.name = "llama",
     .sizes = R"({"hidden_size": 4096, "intermediate_size": 11008, "num_hidden_layers": 32,
                  "num_attention_heads": 32})",
     .bias = all,
     .bias_key = "attention_bias",
     .mlp_bias_key = "mlp_bias"},
    {.name = "mistral",
     .otherwise = R"({"num_key_value_heads": 8, "sliding_window": 4096})",
     .sizes = R"({"hidden_size": 4096, "intermediate_size": 14336, "num_hidden_layers": 32,
                  "num_attention_heads": 32})",
     .windows = Windows::all},
    {.name = "ministral",
     .otherwise = R"({"num_key_value_heads": 8, "sliding_window": 4096})",
     .windows = Windows::all},
    {.name = "qwen2",
     .otherwise = R"({"num_key_value_heads": 32, "use_sliding_window": false,
                      "max_window_layers": 28})",
     .bias = qkv,
     .windows = Windows::upper},
    {.name = "qwen3",
     .otherwise = R"({"num_key_value_heads": 32, "head_dim": 128, "use_sliding_window": false,
                      "max_window_layers": 28})",
     .bias = all,
     .bias_key = "attention_bias",
     .query_key_norm = QueryKeyNorm::head,
     .windows = Windows::upper},
    {.name = "gpt2",
     .otherwise = R"({"tie_word_embeddings": true})",
     .gated = false,
     .norm = Norm::layer,
     .bias = all,
     .mlp_times = 4,
     .mlp_bias = true,
     .learns_positions = true},
    {.name = "nemotron",
     .gated = false,
     .norm = Norm::layer,
     .bias = all,
     .bias_key = "attention_bias",
     .mlp_bias_key = "mlp_bias"},
    {.name = "gemma",
     .otherwise = R"({"num_key_value_heads": 16, "head_dim": 256, "tie_word_embeddings": true})",
     .bias = all,
     .bias_key = "attention_bias"},
    {.name = "gemma2",
     .otherwise = R"({"head_dim": 256, "sliding_window": 4096, "sliding_window_pattern": 2,
                      "tie_word_embeddings": true, "num_attention_heads": 8,
                      "num_key_value_heads": 4})",
     .layer_norms = 4,
     .bias = all,
     .bias_key = "attention_bias",
     .windows = Windows::pattern},
    {.name = "gemma3_text",
     .otherwise = R"({"vocab_size": 262208, "hidden_size": 2304, "intermediate_size": 9216,
                      "num_hidden_layers": 26, "num_attention_heads": 8, "num_key_value_heads": 4,
                      "head_dim": 256, "max_position_embeddings": 131072, "sliding_window": 4096,
                      "sliding_window_pattern": 6, "tie_word_embeddings": true})",
     .layer_norms = 4,
     .bias = all,
     .bias_key = "attention_bias",
     .query_key_norm = QueryKeyNorm::head,
     .windows = Windows::pattern},
    {.name = "gemma4_text",
     .otherwise =
         R"({"num_key_value_heads": 4, "head_dim": 256, "global_head_dim": 512, "sliding_window": 512,
                      "sliding_window_pattern": 6, "tie_word_embeddings": true,
                      "hidden_size_per_layer_input": 256})",
     .layer_norms = 4,
     .bias = all,
     .bias_key = "attention_bias",
     .query_key_norm = QueryKeyNorm::head,
     .windows = Windows::pattern,
     .may_have_experts = true,
     .read = read_gemma4},
    {.name = "glm",
     .otherwise = R"({"num_key_value_heads": 2, "head_dim": 128, "attention_bias": true})",
     .bias = qkv,
     .bias_key = "attention_bias"},
    {.name = "glm4",
     .otherwise = R"({"num_key_value_heads": 2, "head_dim": 128, "attention_bias": true})",
     .layer_norms = 4,
     .bias = qkv,
     .bias_key = "attention_bias"},
    {.name = "chatglm",
     .otherwise = R"({"add_qkv_bias": true})",
     .bias = qkv,
     .bias_key = "add_qkv_bias"},
    {.name = "phi",
     .gated = false,
     .norm = Norm::layer,
     .layer_norms = 1,
     .parallel = true,
     .bias = all,
     .mlp_bias = true,
     .read = read_phi},
    {.name = "phi3", .windows = Windows::all},
    {.name = "olmo", .norm = Norm::bare, .bias = all, .bias_key = "attention_bias"},
    {.name = "olmo2",
     .bias = all,
     .bias_key = "attention_bias",
     .query_key_norm = QueryKeyNorm::all},
    {.name = "olmo3",
     .otherwise = R"({"sliding_window": 4096, "sliding_window_pattern": 4})",
     .bias = all,
     .bias_key = "attention_bias",
     .query_key_norm = QueryKeyNorm::all,
     .windows = Windows::pattern},
    {.name = "falcon",
     .otherwise = R"({"tie_word_embeddings": true, "multi_query": true, "parallel_attn": true})",
     .gated = false,
     .norm = Norm::layer,
     .bias = all,
     .bias_key = "bias",
     .mlp_times = 4,
     .mlp_bias_key = "bias",
     .read = read_falcon},
    {.name = "gpt_neox",
     .otherwise = R"({"attention_bias": true, "use_parallel_residual": true})",
     .gated = false,
     .norm = Norm::layer,
     .bias = all,
     .bias_key = "attention_bias",
     .mlp_bias = true,
     .read = read_neox},
    {.name = "opt",
     .otherwise = R"({"enable_bias": true, "tie_word_embeddings": true})",
     .gated = false,
     .norm = Norm::layer,
     .bias = all,
     .bias_key = "enable_bias",
     .mlp_bias_key = "enable_bias",
     .learns_positions = true,
     .more_positions = 2,
     .read = read_opt},
    {.name = "bloom",
     .otherwise = R"({"tie_word_embeddings": true})",
     .gated = false,
     .norm = Norm::layer,
     .bias = all,
     .mlp_times = 4,
     .mlp_bias = true,
     .read = read_bloom},
    {.name = "starcoder2",
     .otherwise = R"({"num_key_value_heads": 2, "use_bias": true, "tie_word_embeddings": true})",
     .gated = false,
     .norm = Norm::layer,
     .bias = all,
     .bias_key = "use_bias",
     .mlp_bias_key = "use_bias",
     .windows = Windows::all},
    {.name = "stablelm",
     .otherwise = R"({"num_key_value_heads": 32})",
     .norm = Norm::layer,
     .bias = qkv,
     .bias_key = "use_qkv_bias",
     .read = read_stablelm},
    {.name = "cohere",
     .otherwise = R"({"tie_word_embeddings": true})",
     .norm = Norm::scale,
     .layer_norms = 1,
     .parallel = true,
     .bias = all,
     .bias_key = "attention_bias",
     .query_key_norm = QueryKeyNorm::all,
     .query_key_norm_key = "use_qk_norm"},
    {.name = "cohere2",
     .otherwise = R"({"tie_word_embeddings": true, "sliding_window": 4096,
                      "sliding_window_pattern": 4})",
     .norm = Norm::scale,
     .layer_norms = 1,
     .parallel = true,
     .bias = all,
     .bias_key = "attention_bias",
     .windows = Windows::pattern},
    {.name = "granite", .bias = all, .bias_key = "attention_bias", .mlp_bias_key = "mlp_bias"},
    {.name = "internlm", .otherwise = R"({"bias": true})", .bias = all, .bias_key = "bias"},
    {.name = "baichuan"},
    {.name = "exaone"},
    {.name = "exaone4",
     .otherwise = R"({"num_key_value_heads": 32})",
     .query_key_norm = QueryKeyNorm::head,
     .read = read_exaone4},
    {.name = "smollm3",
     .otherwise = R"({"num_key_value_heads": 4, "tie_word_embeddings": true,
                      "use_sliding_window": false})",
     .bias = all,
     .bias_key = "attention_bias",
     .mlp_bias_key = "mlp_bias"},
    {.name = "arcee",
     .gated = false,
     .bias = all,
     .bias_key = "attention_bias",
     .mlp_bias_key = "mlp_bias"},
    {.name = "ernie4_5",
     .otherwise = R"({"num_key_value_heads": 2, "head_dim": 128, "tie_word_embeddings": true})",
     .bias = all,
     .bias_key = "use_bias",
     .mlp_bias_key = "use_bias"},
    {.name = "hunyuan_v1_dense",
     .otherwise = R"({"use_qk_norm": true})",
     .bias = all,
     .bias_key = "attention_bias",
     .query_key_norm = QueryKeyNorm::head,
     .query_key_norm_key = "use_qk_norm",
     .read = read_hunyuan},
    {.name = "seed_oss",
     .otherwise = R"({"num_key_value_heads": 8, "head_dim": 128, "attention_bias": true})",
     .bias = qkv,
     .bias_key = "attention_bias",
     .mlp_bias_key = "mlp_bias"},
    {.name = "vit",
     .otherwise = R"({"qkv_bias": true, "vocab_size": 1, "num_channels": 3, "image_size": 224,
                      "patch_size": 16})",
     .gated = false,
     .norm = Norm::layer,
     .bias = all,
     .mlp_bias = true,
     .read = read_images},
};

}  // namespace

std::span<const Family> attention_families() { return attention_rows; }

// Layers with windows have heads of their own. Where all layers have experts, the MLP is beside
// them, with norms before and behind each; the router has one, too, and a factor for each expert.
void read_gemma4(const Keys& keys, Transformer& model) {
  if (keys.whole_or({"hidden_size_per_layer_input"}, 0, 0, most_width) > 0)
    keys.value()
        .child("hidden_size_per_layer_input")
        .fail("embeddings of every layer are not modelled");
  if (keys.whole_or({"num_kv_shared_layers"}, 0, 0, most_model_layers) > 0)
    keys.value()
        .child("num_kv_shared_layers")
        .fail("layers that share keys and values are not modelled");
  if (model.window) {
    model.window->kv_heads = model.kv_heads;
    model.window->head_size = model.head_size;
  }
  model.head_size = keys.whole({"global_head_dim"}, 1, most_heads);
  model.keys_are_values = keys.flag_or({"attention_k_eq_v"}, false);
  if (model.keys_are_values)
    model.kv_heads = keys.whole_or({"num_global_key_value_heads"}, model.kv_heads, 1, most_heads);
  if (!keys.flag_or({"enable_moe_block"}, true)) {
    model.experts.reset();
    model.mlp_pattern.clear();
  }
  if (!model.experts) return;
  model.layer_norms = 8;
  model.experts->shared = 1;
  model.experts->shared_width = model.mlp_width;
  model.experts->router_bias = true;
}

// Falcon has one key for all heads, or groups in its newer layers, which have two norms.
void read_falcon(const Keys& keys, Transformer& model) {
  const bool is_new = keys.flag_or({"new_decoder_architecture"}, false);
  model.parallel = is_new || keys.flag_or({"parallel_attn"}, true);
  if (is_new)
    model.kv_heads = keys.whole({"num_kv_heads", "n_head_kv"}, 1, most_heads);
  else
    model.kv_heads = keys.flag_or({"multi_query"}, true) ? 1 : model.heads;
  if (model.parallel)
    model.layer_norms = is_new ? keys.whole_or({"num_ln_in_parallel_attn"}, 2, 1, 2) : int64_t{1};
}

void read_neox(const Keys& keys, Transformer& model) {
  model.parallel = keys.flag_or({"use_parallel_residual"}, true);
}

void read_bloom(const Keys& /*keys*/, Transformer& model) { model.embedding_norm = true; }

void read_opt(const Keys& keys, Transformer& model) {
  const int64_t width = keys.whole_or({"word_embed_proj_dim"}, model.hidden, 1, most_width);
  if (width != model.hidden)
    keys.value()
        .child("word_embed_proj_dim")
        .fail("an embedding of another width than the hidden size " + std::to_string(model.hidden) +
              ", and the matrices between them, are not modelled");
  if (!keys.flag_or({"do_layer_norm_before"}, true) ||
      keys.flag_or({"_remove_final_layer_norm"}, false))
    keys.value().fail("a model without a norm behind its last layer is not modelled");
}

void read_stablelm(const Keys& keys, Transformer& model) {
  if (keys.flag_or({"qk_layernorm"}, false))
    keys.value().child("qk_layernorm").fail("norms of every single head are not modelled");
  model.parallel = keys.flag_or({"use_parallel_residual"}, false);
  if (model.parallel) model.layer_norms = 1;
}

void read_phi(const Keys& keys, Transformer& model) {
  if (keys.flag_or({"qk_layernorm"}, false)) model.query_key_norm = QueryKeyNorm::head;
  model.head_bias = true;
}

// The pattern is a text, "LLLG": the local layers, and the global one behind them.
void read_exaone4(const Keys& keys, Transformer& model) {
  const std::string pattern = keys.text_or("sliding_window_pattern", "");
  if (pattern.empty() || keys.has("layer_types")) return;
  if (!keys.has("sliding_window")) return;
  std::vector<Mixing> kinds;
  for (const char letter : pattern) {
    if (letter != 'L' && letter != 'G')
      keys.value()
          .child("sliding_window_pattern")
          .fail("expected letters L and G, got \"" + pattern + "\"");
    kinds.push_back(letter == 'L' ? Mixing::window : Mixing::full);
  }
  model.window = Window{.size = keys.whole({"sliding_window"}, 1, most_sequence)};
  model.mixing_pattern = kinds;
}

void read_images(const Keys& keys, Transformer& model) {
  const int64_t pixels = keys.whole({"image_size"}, 1, 65'536);
  const int64_t side = keys.whole({"patch_size"}, 1, 1024);
  if (pixels % side != 0)
    keys.value()
        .child("patch_size")
        .fail("the image of " + std::to_string(pixels) + " pixels does not divide by it");
  model.patches = Patches{.side = side, .channels = keys.whole({"num_channels"}, 1, 1024)};
  model.positions = pixels / side * (pixels / side) + 1;
  model.sequence = model.longest = model.positions;
  model.causal = false;
  model.tied = false;
  if (!keys.flag_or({"qkv_bias"}, true))
    keys.value()
        .child("qkv_bias")
        .fail(
            "biases of the last matrix of attention alone are not "
            "modelled");
  model.vocabulary = 1000;  // of ImageNet, which a file need not say
  if (keys.has("num_labels")) model.vocabulary = keys.whole({"num_labels"}, 1, most_vocabulary);
  if (keys.has("id2label"))
    model.vocabulary = static_cast<int64_t>(keys.value().child("id2label").json().size());
}

}  // namespace sgdsim
