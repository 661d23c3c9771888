// Encoders, and families of dense decoders from before most were like Llama.
#include "models/training/families/family.h"

namespace sgdsim {
namespace {

using enum AttentionBias;

constexpr Family early_rows[] = {
    {.name = "bert",
     .otherwise = R"({"tie_word_embeddings": true, "type_vocab_size": 2})",
     .gated = false,
     .norm = Norm::layer,
     .bias = all,
     .mlp_bias = true,
     .learns_positions = true,
     .read = read_encoder},
    {.name = "roberta",
     .otherwise = R"({"tie_word_embeddings": true, "type_vocab_size": 1})",
     .gated = false,
     .norm = Norm::layer,
     .bias = all,
     .mlp_bias = true,
     .learns_positions = true,
     .unused_positions = 2,
     .read = read_encoder},
    {.name = "gptj",
     .gated = false,
     .norm = Norm::layer,
     .layer_norms = 1,
     .parallel = true,
     .mlp_times = 4,
     .mlp_bias = true,
     .read = read_gptj},
    {.name = "gpt_bigcode",
     .otherwise = R"({"tie_word_embeddings": true})",
     .gated = false,
     .norm = Norm::layer,
     .bias = all,
     .mlp_times = 4,
     .mlp_bias = true,
     .learns_positions = true,
     .read = read_bigcode},
    {.name = "mpt",
     .otherwise = R"({"tie_word_embeddings": true, "no_bias": true})",
     .gated = false,
     .norm = Norm::scale,
     .mlp_times = 4,
     .read = read_mpt},
    {.name = "qwen", .bias = qkv, .read = read_first_qwen},
    {.name = "minicpm",
     .otherwise = R"({"tie_word_embeddings": true})",
     .bias = all,
     .bias_key = "attention_bias"},
    {.name = "minicpm3",
     .otherwise = R"({"tie_word_embeddings": true})",
     .is_latent = true,
     .values_are_parts = true},
    {.name = "apertus",
     .gated = false,
     .bias = all,
     .bias_key = "attention_bias",
     .query_key_norm = QueryKeyNorm::head,
     .read = read_apertus},
};

}  // namespace

std::span<const Family> early_families() { return early_rows; }

// Every position attends to every other; what stands for kinds of sentences is learned beside
// positions. A norm behind the embedding, none behind the last layer, and one before the last
// matrix, behind one that is as wide as the hidden state.
void read_encoder(const Keys& keys, Transformer& model) {
  if (keys.flag_or({"is_decoder"}, false) || keys.flag_or({"add_cross_attention"}, false))
    keys.value().fail("an encoder that is made a decoder is not modelled");
  if (keys.text_or("position_embedding_type", "absolute") != "absolute")
    keys.value()
        .child("position_embedding_type")
        .fail("positions relative to each other, with scores of their own, are not modelled");
  model.positions += keys.whole({"type_vocab_size"}, 0, 1024);
  model.causal = false;
  model.embedding_norm = true;
  model.head_bias = true;
  model.head_matrix = true;
}

void read_gptj(const Keys& /*keys*/, Transformer& model) { model.head_bias = true; }

void read_bigcode(const Keys& keys, Transformer& model) {
  if (keys.flag_or({"multi_query"}, true)) model.kv_heads = 1;
}

// Distances are in the scores (ALiBi), or positions are learned.
void read_mpt(const Keys& keys, Transformer& model) {
  if (keys.flag_or({"qk_ln"}, false))
    keys.value().child("attn_config").fail("norms of all queries (qk_ln) are not modelled");
  model.mlp_width = keys.whole_or({"expansion_ratio"}, 4, 1, 1024) * model.hidden;
  if (!keys.flag_or({"no_bias"}, true)) {
    model.norm = Norm::layer;
    model.attention_bias = all;
    model.mlp_bias = true;
  }
  if (!keys.flag_or({"alibi"}, false))
    model.positions = keys.whole({"max_seq_len"}, 1, most_sequence);
}

// Its width counts both of the matrices that a gate needs.
void read_first_qwen(const Keys& keys, Transformer& model) {
  if (model.mlp_width % 2 != 0)
    keys.value().child("intermediate_size").fail("it is for two matrices; expected an even number");
  model.mlp_width /= 2;
}

void read_apertus(const Keys& keys, Transformer& model) {
  if (keys.text_or("hidden_act", "xielu") == "xielu")
    model.notes.emplace_back(
        "two learned numbers of the activation (xielu) in each layer are not counted");
}

}  // namespace sgdsim
