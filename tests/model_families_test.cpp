// Families of config.json: totals against published ones, special layers against terms written out
// here, and what is refused.
#include <doctest/doctest.h>

#include "models/training/transformer_file.h"
#include "sim/core/error.h"
#include "tests/run_program.h"
#include "tests/texts.h"

namespace sgdsim {
namespace {

Transformer model_of(const std::string& text) {
  return read_transformer(Document::parse(text, "config.json").root());
}

int64_t total_of(const std::string& text) { return parameters_of(model_of(text)).total; }

std::string config(const std::string& family, const std::string& rest) {
  return R"({"model_type": ")" + family + R"(", "hidden_size": 8, "num_hidden_layers": 4,
    "num_attention_heads": 2, "num_key_value_heads": 1, "intermediate_size": 16, "vocab_size": 10)" +
         (rest.empty() ? "" : ", ") + rest + "}";
}

// Embedding, head, a last norm; attention with one head of keys; an MLP of three matrices.
constexpr int64_t ends = 2 * 10 * 8 + 8;
constexpr int64_t attention = 8 * (8 + 2 * 4) + 8 * 8;
constexpr int64_t mlp = 3 * 8 * 16;

// `beside`: parameters of what is no language model, whose terms are:
// Gemma 3: 27 layers of 1,152 (4 h^2 + 4 h, MLP of 4,304 with biases, two LayerNorms), patches of
// 14 x 14 x 3, 4,096 positions, a last norm, and a projection to 2,560 with a norm;
// Llama 4: as the index of the published files says;
// Gemma 4: a factor of each layer, which is not trained, and 256 of rotation in the GGUF file;
// Apertus: two numbers of the activation in each layer.
// Of two the terms were added here. MiniCPM3: 73,448 h; 62 layers of 768 (h + 1 + 40 x 96) +
// 288 h + 256 (1 + 40 x 128) + 40 x 64 h + 3 x 6,400 h + 2 h; h, which is 2,560. Qwen3.5: 2 x
// 248,320 h; 15 of attention, h (2 x 8,192 + 1,024 + 8,192) + 512; 45 of states, h (12,288 + 8,192
// + 128 + 8,192) + 4 x 12,288 + 256; 60 of 512 (h + 3 x 1,024 h) + 3 x 1,024 h + 3 h; h = 4,096.
TEST_CASE("families: totals are the published ones, to the unit") {
  const Document document =
      Document::read(SGDSIM_SOURCE_DIR "/tests/data/hugging_face_models.json");
  int count = 0;
  for (const Value& row : document.root().items()) {
    const Json& json = row.json();
    INFO(json["name"].get<std::string>());
    const Transformer model = read_transformer(row.child("config"));
    CHECK(parameters_of(model).total + json.value("beside", int64_t{0}) ==
          json["parameters"].get<int64_t>());
    Transformer plain = model;
    plain.notes.clear();
    const Json written = to_json(plain);
    CHECK(read_transformer(Value(written, "written", "")) == plain);
    ++count;
  }
  CHECK(count == 74);
  const int64_t h = 1152;
  CHECK(27 * (4 * h * h + 4 * h + 2 * h * 4304 + 4304 + h + 4 * h) + 14 * 14 * 3 * h + h +
            4096 * h + 2 * h + h * 2560 + h ==
        419'816'304);
}

// The first two of RoBERTa's positions stand for what is left out, so that 512 of 514 are used.
TEST_CASE("families: positions that no token has") {
  const Transformer model = model_of(config("roberta", R"("max_position_embeddings": 514)"));
  CHECK(model.positions == 514 + 1);
  CHECK(model.longest == 512);
  CHECK(model.sequence == 512);
}

TEST_CASE("families: special layers, by their terms") {
  struct Row {
    std::string reason;
    std::string text;
    int64_t parameters;
  };
  const std::string experts = R"("num_local_experts": 3, "num_experts_per_tok": 2)";
  const int64_t expert_layer = attention + 3 * mlp + 3 * 8 + 2 * 8;
  const std::vector<Row> rows = {
      {"norms of each head", config("qwen3", R"("head_dim": 4)"),
       4 * (attention + 2 * 4 + mlp + 16) + ends},
      {"norms over all heads", config("olmo2", ""), 4 * (attention + 8 + 4 + mlp + 16) + ends},
      {"norms without weights", config("olmo", ""), 4 * (attention + mlp) + ends - 8},
      {"four norms", config("glm4", R"("head_dim": 4, "attention_bias": false)"),
       4 * (attention + mlp + 32) + ends},
      {"side by side with one norm", config("cohere", R"("tie_word_embeddings": false)"),
       4 * (attention + mlp + 8) + ends},
      {"a bias of the head", config("phi", ""),
       4 * (attention + 8 + 4 + 4 + 8 + 2 * 8 * 16 + 16 + 8 + 2 * 8) + ends + 8 + 10},
      {"falcon with one head of keys", config("falcon", R"("tie_word_embeddings": false)"),
       4 * (attention + 2 * 8 * 16 + 16) + ends + 8},
      {"falcon of the newer kind",
       config("falcon", R"("new_decoder_architecture": true, "num_kv_heads": 2)"),
       4 * (4 * 64 + 2 * 8 * 16 + 32) + 80 + 16},
      {"falcon one behind the other",
       config("falcon", R"("parallel_attn": false, "multi_query": false, "bias": true)"),
       4 * (4 * 64 + 4 * 8 + 2 * 8 * 16 + 16 + 8 + 32) + 80 + 16},
      {"dbrx has its keys inside",
       R"({"model_type": "dbrx", "d_model": 8, "n_layers": 4, "n_heads": 2, "vocab_size": 10,
         "attn_config": {"kv_n_heads": 1}, "ffn_config": {"ffn_hidden_size": 16,
         "moe_num_experts": 3, "moe_top_k": 2}})",
       4 * expert_layer + ends},
      {"phimoe: biases of attention and head, norms with biases",
       config("phimoe", experts + R"(, "attention_bias": true, "lm_head_bias": true)"),
       4 * (expert_layer + 8 + 4 + 4 + 8 + 16) + ends + 8 + 10},
      {"biases of experts and router, and sinks", config("gpt_oss", experts + R"(, "head_dim": 4)"),
       4 * (expert_layer + 24 + 3 * (32 + 8) + 3 + 2) + ends},
      {"hunyuan says a number for each layer",
       config("hunyuan_v1_moe", R"("num_experts": 3, "moe_topk": [2, 2, 2, 2],
         "moe_intermediate_size": [16, 16, 16, 16], "num_shared_expert": [1, 1, 1, 1])"),
       4 * (expert_layer + mlp + 8) + ends},
      {"a shared expert with a gate, every second layer",
       config("qwen2_moe", R"("num_experts": 3, "num_experts_per_tok": 2, "qkv_bias": false,
         "moe_intermediate_size": 16, "shared_expert_intermediate_size": 5,
         "decoder_sparse_step": 2)"),
       2 * (expert_layer + 3 * 8 * 5 + 8) + 2 * (attention + mlp + 16) + ends},
      {"an indexer, fed by narrow queries",
       config("deepseek_v32", R"("n_routed_experts": 3, "num_experts_per_tok": 2,
         "moe_intermediate_size": 16, "first_k_dense_replace": 4, "q_lora_rank": 6,
         "kv_lora_rank": 3, "qk_nope_head_dim": 4, "qk_rope_head_dim": 2, "v_head_dim": 4,
         "index_n_heads": 2, "index_head_dim": 5, "index_topk": 7)"),
       4 * (8 * 6 + 6 * 12 + 8 * 5 + 3 * 16 + 64 + 9 + 6 * 10 + 8 * 7 + 10 + mlp + 16) + ends},
      {"mamba2", R"({"model_type": "mamba2", "hidden_size": 8, "num_hidden_layers": 4,
         "num_heads": 4, "head_dim": 4, "state_size": 6, "n_groups": 2, "vocab_size": 10})",
       4 * (8 * (2 * 16 + 2 * 12 + 4) + (16 + 24) * 5 + 3 * 4 + 16 + 16 * 8 + 8) + ends},
      {"jamba: three of Mamba, one of attention; every second with experts",
       config("jamba", experts + R"(, "attn_layer_period": 4, "attn_layer_offset": 1,
         "mamba_d_state": 6, "mamba_dt_rank": 2)"),
       3 * (8 * 32 + 16 * 5 + 16 * (2 + 12) + 2 * 16 + 16 + 16 * 6 + 16 + 16 * 8 + 14) + attention +
           2 * (3 * mlp + 3 * 8) + 2 * mlp + 4 * 16 + ends},
      {"nemotron_h: each layer one thing, with one norm",
       config("nemotron_h", R"("hybrid_override_pattern": "M*-M", "mamba_num_heads": 4,
         "head_dim": 4, "mamba_head_dim": 4, "ssm_state_size": 6, "n_groups": 2)"),
       2 * (8 * (2 * 16 + 2 * 12 + 4) + 40 * 5 + 12 + 16 + 128) + attention + 2 * 8 * 16 + 4 * 8 +
           ends},
      {"nemotron_h: experts whose input a matrix makes, in a list of words",
       config("nemotron_h", R"("layers_block_type": ["attention", "moe", "attention", "mlp"],
         "head_dim": 4, "n_routed_experts": 3, "num_experts_per_tok": 2,
         "moe_intermediate_size": 16, "n_shared_experts": 1, "moe_shared_expert_intermediate_size": 12, "moe_latent_size": 6)"),
       2 * attention + 3 * 2 * 6 * 16 + 2 * 8 * 6 + 3 * 8 + 3 + 2 * 8 * 12 + 2 * 8 * 16 + 4 * 8 +
           ends},
      {"nemotron_h: as many layers as its list has",
       R"({"model_type": "nemotron_h", "hidden_size": 8, "num_attention_heads": 2,
         "num_key_value_heads": 1, "attention_head_dim": 4, "intermediate_size": 16,
         "vocab_size": 10, "layers_block_type": ["attention", "mlp", "mlp"]})",
       attention + 2 * 2 * 8 * 16 + 3 * 8 + ends},
      {"ernie4_5_moe_vl: without experts of images",
       R"({"model_type": "ernie4_5_moe_vl", "hidden_size": 8, "num_hidden_layers": 2,
         "num_attention_heads": 2, "num_key_value_heads": 1, "intermediate_size": 16,
         "vocab_size": 10, "tie_word_embeddings": false, "moe_num_experts": [3, 5],
         "moe_intermediate_size": [16, 6], "moe_k": 2, "moe_layer_start_index": [1, 0],
         "moe_num_shared_experts": 0})",
       2 * (attention + 16) + mlp + 3 * mlp + 3 * 8 + 3 + ends},
      {"kimi_linear: decays and gates by narrow vectors; latent attention in layer 4",
       config("kimi_linear", R"("kv_lora_rank": 3, "qk_nope_head_dim": 4, "qk_rope_head_dim": 2,
         "v_head_dim": 4, "linear_attn_config": {"num_heads": 2, "head_dim": 5,
         "short_conv_kernel_size": 4, "kda_layers": [1, 2, 3], "full_attn_layers": [4]})"),
       3 * (3 * 8 * 10 + 3 * 10 * 4 + 8 * 2 + 2 * (8 * 5 + 5 * 10) + 10 + 2 + 5 + 10 * 8) +
           (8 * 12 + 8 * 5 + 3 * 16 + 8 * 8 + 3) + 4 * (mlp + 16) + ends},
      {"longcat_flash: two layers for one, experts of which some are nothing",
       R"({"model_type": "longcat_flash", "hidden_size": 8, "num_layers": 2, "vocab_size": 10,
         "num_attention_heads": 2, "ffn_hidden_size": 16, "expert_ffn_hidden_size": 6,
         "n_routed_experts": 4, "zero_expert_num": 2, "moe_topk": 3, "q_lora_rank": 6,
         "kv_lora_rank": 3, "qk_nope_head_dim": 4, "qk_rope_head_dim": 2, "v_head_dim": 4})",
       4 * (8 * 6 + 6 * 12 + 8 * 5 + 3 * 16 + 64 + 9 + mlp + 16) + 2 * (4 * 3 * 8 * 6 + 6 * 8 + 6) +
           ends},
      {"arctic: a dense MLP as wide as the hidden state beside experts, three norms",
       config("arctic", experts), 4 * (expert_layer + 3 * 64 + 8) + ends},
      {"gemma4: other heads in windows, and keys that are values in full layers",
       config("gemma4_text", R"("head_dim": 4, "global_head_dim": 6, "attention_k_eq_v": true,
         "num_global_key_value_heads": 2, "sliding_window_pattern": 2,
         "hidden_size_per_layer_input": 0, "tie_word_embeddings": false)"),
       2 * (attention + 8) + 2 * (8 * 12 + 8 * 12 + 8 * 12 + 12) + 4 * (mlp + 32) + ends},
      {"gemma4: experts beside the MLP, with norms of their own and of the router",
       config("gemma4_text", R"("head_dim": 4, "global_head_dim": 4, "num_experts": 3,
         "top_k_experts": 2, "moe_intermediate_size": 16, "hidden_size_per_layer_input": null,
         "tie_word_embeddings": false)"),
       4 * (attention + 8 + 4 * mlp + 3 * 8 + 3 + 8 * 8) + ends},
      {"afmoe: a gate, four norms, the first layer dense",
       config("afmoe", R"("head_dim": 4, "num_experts": 3, "num_experts_per_tok": 2,
         "moe_intermediate_size": 16, "num_shared_experts": 1, "num_dense_layers": 1,
         "sliding_window": 6)"),
       4 * (attention + 8 + 64 + 32) + mlp + 3 * (4 * mlp + 3 * 8 + 3) + ends},
      {"bert: a matrix before the last one, and kinds of sentences",
       R"({"model_type": "bert", "hidden_size": 8, "num_hidden_layers": 4, "vocab_size": 10,
         "num_attention_heads": 2, "intermediate_size": 16, "max_position_embeddings": 7})",
       4 * (4 * 64 + 4 * 8 + 2 * 8 * 16 + 16 + 8 + 32) + 80 + (7 + 2) * 8 + 16 + 64 + 8 + 16 + 10},
      {"gptj: attention and MLP side by side, a bias of the head",
       R"({"model_type": "gptj", "n_embd": 8, "n_layer": 4, "n_head": 2, "vocab_size": 10})",
       4 * (4 * 64 + 2 * 8 * 32 + 32 + 8 + 16) + 160 + 10 + 16},
      {"mpt: no biases, tied",
       R"({"model_type": "mpt", "d_model": 8, "n_layers": 4, "n_heads": 2, "vocab_size": 10,
         "attn_config": {"alibi": true}})",
       4 * (4 * 64 + 2 * 8 * 32 + 16) + 80 + 8},
      {"qwen3_next: three of the delta rule, one of attention with a gate",
       config("qwen3_next", R"("head_dim": 4, "num_experts": 3, "num_experts_per_tok": 2,
         "moe_intermediate_size": 16, "shared_expert_intermediate_size": 16,
         "linear_num_key_heads": 2, "linear_num_value_heads": 4, "linear_key_head_dim": 3,
         "linear_value_head_dim": 5)"),
       3 * (8 * (12 + 40 + 8) + 32 * 4 + 8 + 5 + 20 * 8) + attention + 64 + 8 +
           4 * (4 * mlp + 3 * 8 + 8 + 16) + ends},
  };
  for (const Row& row : rows) {
    INFO(row.reason);
    CHECK(total_of(row.text) == row.parameters);
  }
}

TEST_CASE("families: which layers have windows") {
  struct Row {
    std::string text;
    std::string kinds;  // f, w or l for each of four layers
    int64_t window;
  };
  const std::string sized = R"("sliding_window": 6)";
  const std::string upper = R"(, "use_sliding_window": true, "max_window_layers": 3)";
  for (const Row& row : std::vector<Row>{
           {config("llama", sized), "ffff", 0},
           {config("mistral", sized), "wwww", 6},
           {config("mistral", R"("sliding_window": null)"), "ffff", 0},
           {config("gemma2", sized), "wfwf", 6},
           {config("cohere2", sized), "wwwf", 6},
           {config("gemma3_text", sized + R"(, "sliding_window_pattern": 3)"), "wwfw", 6},
           {config("qwen2", sized), "ffff", 0},
           {config("qwen2", sized + upper), "fffw", 6},
           {config("exaone4", sized + R"(, "sliding_window_pattern": "LG")"), "wfwf", 6},
           {config("olmo3", sized + R"(, "layer_types": ["full_attention", "sliding_attention",
             "sliding_attention", "full_attention"])"),
            "fwwf", 6},
           {config("llama4_text", R"("num_local_experts": 2, "num_experts_per_tok": 1)"), "wwwf",
            8192}}) {
    INFO(row.text);
    const Transformer model = model_of(row.text);
    std::string kinds;
    for (int64_t i = 0; i < 4; ++i) kinds += name_in(mixings, model.layer(i).mixing)[0];
    CHECK(kinds == row.kinds);
    CHECK((model.window ? model.window->size : 0) == row.window);
  }
}

TEST_CASE("families: a model of several inputs is its language model, and says so") {
  const Transformer model = model_of(R"({"model_type": "qwen2_5_vl", "tie_word_embeddings": true,
    "text_config": {"hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 2,
    "num_key_value_heads": 2, "intermediate_size": 16, "vocab_size": 10}, "vision_config": {"hidden_size": 4}})");
  CHECK(parameters_of(model).total == 4 * 64 + 24 + mlp + 16 + 80 + 8);
  REQUIRE(model.notes.size() == 1);
  CHECK(model.notes[0].find("vision_config is left out") != std::string::npos);
}

// Of configuration_*.py of transformers; a null says as many as heads, or parts of the hidden size.
TEST_CASE("families: keys that are left out are as the class of the family has them") {
  struct Row {
    std::string family;
    int64_t kv_heads;
    int64_t head_size;
  };
  const std::string sizes = R"(, "hidden_size": 2560, "num_hidden_layers": 4,
    "num_attention_heads": 80, "intermediate_size": 64, "vocab_size": 10, "num_experts": 2,
    "n_routed_experts": 2, "num_local_experts": 2, "num_experts_per_tok": 1,
    "moe_intermediate_size": 8)";
  const std::string dense = R"(, "hidden_size": 2560, "num_hidden_layers": 4,
    "num_attention_heads": 80, "intermediate_size": 64, "vocab_size": 10)";
  const std::vector<Row> dense_rows = {
      {"llama", 80, 32},      {"mistral", 8, 32},          {"ministral", 8, 32},
      {"ministral3", 8, 128}, {"gemma", 16, 256},          {"glm", 2, 128},
      {"glm4", 2, 128},       {"glm4v_text", 2, 32},       {"starcoder2", 2, 32},
      {"smollm3", 4, 32},     {"seed_oss", 8, 128},        {"ernie4_5", 2, 128},
      {"helium", 20, 128},    {"qwen2_vl_text", 8, 32},    {"qwen2_5_omni_text", 4, 32},
      {"granite", 80, 32},    {"hunyuan_v1_dense", 80, 32}};
  const std::vector<Row> expert_rows = {
      {"mixtral", 8, 32},     {"qwen3_moe", 4, 32}, {"qwen3_vl_moe_text", 16, 32},
      {"gpt_oss", 8, 64},     {"glm4_moe", 8, 32},  {"solar_open", 8, 128},
      {"minimax_m2", 8, 128}, {"phimoe", 8, 32},    {"llama4_text", 8, 128},
      {"olmoe", 80, 32},      {"jamba", 8, 32},     {"qwen3_next", 2, 256}};
  const auto check = [](const Row& row, const std::string& keys) {
    const std::string text = R"({"model_type": ")" + row.family + "\"" + keys;
    INFO(row.family);
    const Transformer model = model_of(text + "}");
    CHECK(model.kv_heads == row.kv_heads);
    CHECK(model.head_size == row.head_size);
    const Transformer bare = model_of(text + R"(, "num_key_value_heads": null, "head_dim": null})");
    CHECK(bare.kv_heads == 80);
    CHECK(bare.head_size == 32);
  };
  for (const Row& row : dense_rows) check(row, dense);
  for (const Row& row : expert_rows) check(row, sizes);
  CHECK(model_of(R"({"model_type": "glm4_moe")" + sizes + "}").experts->first_dense == 1);
  CHECK(model_of(R"({"model_type": "glm4")" + dense + "}").attention_bias == AttentionBias::qkv);
  CHECK(model_of(R"({"model_type": "phimoe")" + sizes + "}").attention_bias == AttentionBias::none);
}

// vicuna-7b with 32,064 words: 2 x 32,064 h; 32 layers of 4 h^2 + 3 x 11,008 h + 2 h; h = 4,096.
TEST_CASE("families: sizes that a model of several inputs leaves out") {
  const Transformer llava = model_of(R"({"model_type": "llava", "text_config": {
    "model_type": "llama", "max_position_embeddings": 4096, "vocab_size": 32064}})");
  const int64_t h = 4096;
  CHECK(parameters_of(llava).total ==
        2 * 32'064 * h + 32 * (4 * h * h + 3 * 11'008 * h + 2 * h) + h);
  REQUIRE(llava.notes.size() == 1);
  CHECK(llava.notes[0].find("hidden_size 4096, intermediate_size 11008") != std::string::npos);
  const Transformer pixtral = model_of(R"({"model_type": "llava", "text_config": {"head_dim": 128,
    "hidden_size": 5120, "intermediate_size": 14336, "model_type": "mistral",
    "num_hidden_layers": 40, "sliding_window": null, "vocab_size": 131072}})");
  CHECK(pixtral.heads == 32);
  CHECK(pixtral.kv_heads == 8);
}

// DeepSeek-VL2-tiny: attention of 10 heads of 128, h = 1,280.
TEST_CASE("families: DeepSeek without latent attention") {
  const Transformer model = model_of(R"({"model_type": "deepseek_vl_v2", "language_config": {
    "model_type": "deepseek_v2", "hidden_size": 1280, "intermediate_size": 6848,
    "kv_lora_rank": null, "q_lora_rank": null, "qk_nope_head_dim": 0, "qk_rope_head_dim": 0,
    "v_head_dim": 0, "use_mla": false, "moe_intermediate_size": 896, "n_routed_experts": 64,
    "n_shared_experts": 2, "num_attention_heads": 10, "num_key_value_heads": 10,
    "num_experts_per_tok": 6, "first_k_dense_replace": 1, "num_hidden_layers": 12,
    "vocab_size": 129280}})");
  const int64_t h = 1280;
  CHECK_FALSE(model.latent);
  CHECK(parameters_of(model).total == 2 * 129'280 * h + h + 12 * (4 * h * h + 2 * h) +
                                          3 * h * 6848 + 11 * (66 * 3 * h * 896 + 64 * h));
}

// moe_layers and no_rope_layers of Llama4TextConfig go before what would follow from steps.
TEST_CASE("families: Llama 4 with lists of layers") {
  const std::string some = R"("num_local_experts": 3, "num_experts_per_tok": 1,
    "head_dim": 4, "intermediate_size_mlp": 16, )";
  const auto total = [&](const std::string& rest) {
    return total_of(config("llama4_text", some + rest));
  };
  CHECK(total(R"("moe_layers": [1, 3])") == total(R"("interleave_moe_layer_step": 2)"));
  CHECK(total(R"("moe_layers": null)") == total(R"("interleave_moe_layer_step": 1)"));
  CHECK(total(R"("moe_layers": [])") == 4 * (attention + mlp + 16) + ends);
  const Transformer model =
      model_of(config("llama4_text", some + R"("no_rope_layers": [0, 1, 1, 0])"));
  std::string kinds;
  for (int64_t i = 0; i < 4; ++i) kinds += name_in(mixings, model.layer(i).mixing)[0];
  CHECK(kinds == "fwwf");
  CHECK(refusal_of([&] {
          model_of(config("llama4_text", some + R"("no_rope_layers": [0, 1])"));
        }).find("expected a number for each of the 4 layers, got 2") != std::string::npos);
}

// Falcon-40B and Falcon-7B as they were first published; the totals are those of their files of
// today.
TEST_CASE("families: Falcon by its first names") {
  CHECK(total_of(R"({"model_type": "RefinedWeb", "bias": false, "hidden_size": 8192,
    "n_head": 128, "n_head_kv": 8, "n_layer": 60, "parallel_attn": true,
    "vocab_size": 65024})") == 41'303'293'952);
  CHECK(total_of(R"({"model_type": "RefinedWebModel", "bias": false, "hidden_size": 4544,
    "n_head": 71, "n_layer": 32, "parallel_attn": true, "multi_query": true,
    "vocab_size": 65024})") == 6'921'720'704);
}

TEST_CASE("families: what is refused, and why") {
  struct Row {
    std::string reason;
    std::string text;
    std::string sentence;
  };
  for (const Row& row : std::vector<Row>{
           {"near names are other architectures", config("qwen4", ""), "unknown family of models"},
           {"another one near", config("gemma5_text", ""), "unknown family of models"},
           {"two stacks", config("t5", ""), "also attends to an encoder"},
           {"shared weights", config("zamba2", ""), "share their weights"},
           {"compressed positions", config("deepseek_v4", ""), "attention to compressed positions"},
           {"both sides", config("modernbert", ""), "windows on both sides"},
           {"embeddings of layers", config("gemma4_text", R"("hidden_size_per_layer_input": 4)"),
            "embeddings of every layer are not modelled"},
           {"keys of other layers", config("gemma4_text", R"("hidden_size_per_layer_input": 0,
             "num_kv_shared_layers": 2)"),
            "layers that share keys and values"},
           {"means of layers", config("kimi_linear", R"("attn_res_block_size": 4,
             "kv_lora_rank": 3, "qk_nope_head_dim": 4, "qk_rope_head_dim": 2, "v_head_dim": 4)"),
            "a mean of earlier ones"},
           {"shared keys", config("hunyuan_v1_dense", R"("use_cla": true)"), "/use_cla"},
           {"another embedding", config("opt", R"("word_embed_proj_dim": 4,
             "max_position_embeddings": 8)"),
            "/word_embed_proj_dim"},
           {"a list too short", config("olmo3", R"("layer_types": ["full_attention"])"),
            "expected a kind for each of the 4 layers, got 1"},
           {"a kind that is none",
            config("olmo3", R"("layer_types": ["full_attention", "a", "b", "c"])"),
            "unknown kind of layers \"a\""},
           {"letters", config("nemotron_h", R"("hybrid_override_pattern": "M*-X")"), "letters M"},
           {"too few letters", config("nemotron_h", R"("hybrid_override_pattern": "M*-")"),
            "for each of the 4 layers, got 3"},
           {"layers of different sizes", config("hunyuan_v1_moe", R"("num_experts": 3,
             "moe_topk": [1, 2], "moe_intermediate_size": 4)"),
            "layers of different sizes are not modelled"},
           {"no width of experts", config("qwen3_moe", R"("num_experts": 3,
             "num_experts_per_tok": 2)"),
            "lacks \"moe_intermediate_size\""},
           {"a window of no number", config("mistral", R"("sliding_window": -1)"),
            "/sliding_window"},
           {"an inner file that is none", R"({"model_type": "llava", "text_config": {}})",
            "/text_config: lacks \"hidden_size\""}}) {
    INFO(row.reason);
    const std::string refusal = refusal_of([&] { model_of(row.text); });
    INFO(refusal);
    CHECK(refusal.find(row.sentence) != std::string::npos);
    CHECK(refusal.find("did you mean") == std::string::npos);
  }
}

TEST_CASE("families: `sgdsim model show` says the kinds of layers") {
  const Temporary file(Temporary::Kind::file, config("gemma2", R"("sliding_window": 6,
    "max_position_embeddings": 64, "rope_theta": Infinity)"));
  const Ran ran = run_sgdsim({"model", "show", file.name(), "--sequence", "128"});
  CHECK(ran.exit_code == 0);
  CHECK(ran.out.find("2 of attention to the last 6 positions and a dense MLP") !=
        std::string::npos);
  CHECK(ran.log.find("128 is longer than the 64 positions") != std::string::npos);
  const Ran json = run_sgdsim({"model", "show", file.name(), "--format", "json"});
  CHECK(Json::parse(json.out)["layers"] ==
        Json::parse(R"([{"count": 2, "attention": "full", "mlp": "dense"},
                        {"count": 2, "attention": "window", "mlp": "dense"}])"));
}

}  // namespace
}  // namespace sgdsim
