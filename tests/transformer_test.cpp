// Models by their dimensions: parameters and FLOP against formulas written out here, config.json of
// Hugging Face, and what is refused.
#include <doctest/doctest.h>
#include <filesystem>

#include "models/training/transformer_file.h"
#include "sim/core/error.h"
#include "study/layout/layout_files.h"
#include "tests/run_program.h"
#include "tests/texts.h"

namespace sgdsim {
namespace {

int64_t total(const std::string& name) { return parameters_of(load_model(name)).total; }

// Grouped queries, three matrices, two norms a layer and one at the end, an own head.
int64_t llama(int64_t h, int64_t layers, int64_t f, int64_t q, int64_t k, int64_t vocabulary) {
  return layers * (h * (q + 2 * k) + q * h + 3 * h * f + 2 * h) + h + 2 * vocabulary * h;
}

TEST_CASE("models: parameters are those of the released models") {
  CHECK(total("llama3.1_8b") == 8'030'261'248);
  CHECK(total("llama3.1_8b") == llama(4096, 32, 14336, 4096, 1024, 128256));
  CHECK(total("llama3.1_70b") == 70'553'706'496);
  CHECK(total("llama3.1_70b") == llama(8192, 80, 28672, 8192, 1024, 128256));
  CHECK(total("llama3.1_405b") == llama(16384, 126, 53248, 16384, 1024, 128256));
  // Two matrices, norms with biases.
  const auto nemotron = [](int64_t h, int64_t layers, int64_t f, int64_t k) {
    return layers * (h * (h + 2 * k) + h * h + 2 * h * f + 4 * h) + 2 * h + 2 * 256'000 * h;
  };
  CHECK(total("nemotron4_15b") == nemotron(6144, 32, 24576, 1024));
  CHECK(total("nemotron4_340b") == nemotron(18432, 96, 73728, 1536));
  // 12 h^2 of matrices, 9 h of biases and 4 h of norms a layer; the head is the embedding.
  const int64_t h = 12288;
  CHECK(total("gpt3_175b") == 96 * (12 * h * h + 13 * h) + 2 * h + (50257 + 2048) * h);
  // Eight MLPs and a router in the place of one MLP.
  const int64_t m = 4096;
  CHECK(total("mixtral_8x7b") ==
        32 * (m * (m + 2 * 1024) + m * m + 8 * (3 * m * 14336) + 8 * m + 2 * m) + m +
            2 * 32000 * m);
  CHECK(total("mixtral_8x7b") == 46'702'792'704);
  CHECK(total("vit_large") == 304'326'632);
  // Attention with a norm of each head, a router, and experts of three matrices.
  const auto qwen = [](int64_t h, int64_t layers, int64_t heads, int64_t width) {
    const int64_t k = 4 * 128;
    const int64_t q = heads * 128;
    return layers * (h * (q + 2 * k) + q * h + 2 * 128 + 128 * h + 128 * 3 * h * width + 2 * h) +
           h + 2 * 151'936 * h;
  };
  CHECK(total("qwen3_30b_a3b") == qwen(2048, 48, 32, 768));
  CHECK(total("qwen3_235b_a22b") == qwen(4096, 94, 64, 1536));
  // Metadata of the released weights.
  CHECK(total("qwen3_30b_a3b") == 30'532'122'624);
  CHECK(total("gpt_oss_120b") == 116'829'156'672);
}

TEST_CASE("models: DeepSeek-V3, by part") {
  const ParameterCount count = parameters_of(load_model("deepseek_v3"));
  const int64_t h = 7168;
  const int64_t heads = 128;
  const int64_t attention = h * 1536 + 1536 * heads * (128 + 64) + h * (512 + 64) +
                            512 * heads * (128 + 128) + heads * 128 * h;
  CHECK(count.attention == 61 * attention);
  CHECK(count.mlp == 3 * (3 * h * 18432) + 58 * (3 * h * 2048));
  CHECK(count.experts == 58 * 256 * (3 * h * 2048));
  CHECK(count.router == 58 * (256 * h + 256));
  CHECK(count.norms == 61 * (2 * h + 1536 + 512) + h);
  CHECK(count.embedding == 129280 * h);
  CHECK(count.total == 671'026'419'200);
  CHECK(count.active == count.total - count.experts + 58 * 8 * (3 * h * 2048));
}

TEST_CASE("models: FLOP of a sequence, in both conventions") {
  const Transformer model = load_model("llama3.1_405b");
  const double s = 8192;
  const double h = 16384;
  const double matrices = 126 * (h * (h + 2 * 1024) + h * h + 3 * h * 53248) + h * 128256;
  const double scores = 126 * 4 * s * s * h;
  CHECK(sequence_flop(model, 8192, FlopConvention::whole) ==
        doctest::Approx(3 * (2 * s * matrices + scores)).epsilon(1e-12));
  CHECK(sequence_flop(model, 8192, FlopConvention::halved) ==
        doctest::Approx(3 * (2 * s * matrices + scores / 2)).epsilon(1e-12));
  // As published, to the printed digits.
  CHECK(sequence_flop(model, 8192, FlopConvention::halved) ==
        doctest::Approx(2.068e16).epsilon(3e-4));
  CHECK(sequence_flop(model, 8192, FlopConvention::whole) ==
        doctest::Approx(2.151e16).epsilon(3e-4));
  const Transformer images = load_model("vit_large");  // nothing to halve
  CHECK(sequence_flop(images, 197, FlopConvention::halved) ==
        sequence_flop(images, 197, FlopConvention::whole));
}

TEST_CASE("models: every model that ships reads back as it was written") {
  const std::filesystem::path folder = "models/training/data/models";
  std::size_t count = 0;
  for (const auto& entry :
       std::filesystem::directory_iterator(std::filesystem::path(SGDSIM_SOURCE_DIR) / folder)) {
    ++count;
    const Document document = Document::read(entry.path().string());
    const Transformer model = read_transformer(document.root());
    CHECK(model.name == entry.path().stem().string());
    const Json written = to_json(model);
    CHECK(read_transformer(Value(written, "written", "")) == model);
  }
  CHECK(count == 12);
}

Transformer hugging_face(const std::string& text) {
  return read_transformer(Document::parse(text, "config.json").root());
}

std::string refusal_of_model(const std::string& text) {
  return refusal_of([&] { hugging_face(text); });
}

TEST_CASE("models: config.json of Hugging Face, one of each family") {
  struct Row {
    std::string reason;
    std::string text;
    int64_t parameters;
  };
  const std::vector<Row> rows = {
      {"llama", R"({"model_type": "llama", "hidden_size": 4096, "num_hidden_layers": 32,
        "num_attention_heads": 32, "num_key_value_heads": 8, "intermediate_size": 14336,
        "vocab_size": 128256, "rope_theta": 500000.0, "torch_dtype": "bfloat16",
        "tie_word_embeddings": false, "max_position_embeddings": 131072})",
       8'030'261'248},
      {"llama without groups, tied", R"({"model_type": "llama", "hidden_size": 8,
        "num_hidden_layers": 1, "num_attention_heads": 2, "num_key_value_heads": null,
        "intermediate_size": 16, "vocab_size": 10, "tie_word_embeddings": true})",
       4 * 64 + 3 * 8 * 16 + 3 * 8 + 10 * 8},
      {"mistral with heads of their own size", R"({"model_type": "mistral", "hidden_size": 8,
        "num_hidden_layers": 2, "num_attention_heads": 3, "head_dim": 4, "num_key_value_heads": 1,
        "intermediate_size": 16, "vocab_size": 10})",
       2 * (8 * (12 + 8) + 12 * 8 + 3 * 8 * 16 + 16) + 8 + 160},
      {"qwen2 has biases of queries, keys and values", R"({"model_type": "qwen2", "hidden_size": 8,
        "num_hidden_layers": 1, "num_attention_heads": 2, "num_key_value_heads": 1,
        "intermediate_size": 16, "vocab_size": 10, "use_sliding_window": false})",
       8 * (8 + 8) + 8 * 8 + 16 + 3 * 8 * 16 + 3 * 8 + 160},
      {"mixtral", R"({"model_type": "mixtral", "hidden_size": 8, "num_hidden_layers": 1,
        "num_attention_heads": 2, "num_key_value_heads": 2, "intermediate_size": 16,
        "vocab_size": 10, "num_local_experts": 4, "num_experts_per_tok": 2})",
       4 * 64 + 4 * 3 * 8 * 16 + 4 * 8 + 3 * 8 + 160},
      {"deepseek_v3", R"({"model_type": "deepseek_v3", "hidden_size": 8, "num_hidden_layers": 2,
        "num_attention_heads": 2, "num_key_value_heads": 2, "intermediate_size": 16,
        "vocab_size": 10, "n_routed_experts": 4, "num_experts_per_tok": 2,
        "moe_intermediate_size": 5, "n_shared_experts": 1, "first_k_dense_replace": 1,
        "q_lora_rank": 6, "kv_lora_rank": 3, "qk_nope_head_dim": 4, "qk_rope_head_dim": 2,
        "v_head_dim": 4, "num_nextn_predict_layers": 1})",
       2 * (8 * 6 + 6 * 2 * 6 + 8 * 5 + 3 * 2 * 8 + 8 * 8 + 16 + 9) + 3 * 8 * 16 + 5 * 3 * 8 * 5 +
           4 * 8 + 4 + 8 + 160},
      {"gpt2", R"({"model_type": "gpt2", "n_embd": 768, "n_layer": 12, "n_head": 12,
        "n_positions": 1024, "vocab_size": 50257})",
       124'439'808},
      {"nemotron", R"({"model_type": "nemotron", "hidden_size": 8, "num_hidden_layers": 1,
        "num_attention_heads": 2, "num_key_value_heads": 1, "intermediate_size": 16,
        "vocab_size": 10})",
       8 * 16 + 64 + 2 * 8 * 16 + 6 * 8 + 160},
  };
  for (const Row& row : rows) {
    INFO(row.reason);
    CHECK(parameters_of(hugging_face(row.text)).total == row.parameters);
  }
  CHECK(hugging_face(rows[5].text).notes.size() == 1);  // the layer that predicts a second token
  CHECK(hugging_face(rows[3].text).notes.empty());
}

TEST_CASE("models: what is refused, in a sentence that names the field") {
  const std::string sizes = R"("hidden_size": 8, "num_hidden_layers": 1, "intermediate_size": 16,
    "vocab_size": 10, )";
  struct Row {
    std::string reason;
    std::string text;
    std::string sentence;
  };
  const std::vector<Row> rows = {
      {"another family", R"({"model_type": "hyena"})", "unknown family of models \"hyena\""},
      {"neither kind", R"({"hidden": 8})", "the file has neither"},
      {"a list", "[]", "expected a JSON object"},
      {"half of the keys of experts",
       R"({"model_type": "mixtral", )" + sizes +
           R"("num_attention_heads": 2, "num_local_experts": 4})",
       "lacks \"num_experts_per_tok\""},
      {"the other half",
       R"({"model_type": "mixtral", )" + sizes +
           R"("num_attention_heads": 2, "num_experts_per_tok": 4})",
       "lacks \"num_local_experts\""},
      {"experts where there are none",
       R"({"model_type": "llama", )" + sizes +
           R"("num_attention_heads": 2, "num_local_experts": 4})",
       "/num_local_experts: the family llama has no experts"},
      {"heads that do not divide",
       R"({"model_type": "llama", )" + sizes + R"("num_attention_heads": 3})",
       "does not divide by num_attention_heads 3"},
      {"groups that do not divide",
       R"({"model_type": "llama", )" + sizes +
           R"("num_attention_heads": 4, "num_key_value_heads": 3})",
       "the 4 heads do not divide among 3"},
      {"more experts for a token than there are",
       R"({"model_type": "mixtral", )" + sizes +
           R"("num_attention_heads": 2, "num_key_value_heads": 2, "num_local_experts": 4,
           "num_experts_per_tok": 5})",
       "a token visits 5 of 4 experts"},
      {"a size that is none", R"({"model_type": "llama", "hidden_size": -8})", "/hidden_size"},
      {"an unknown field", R"({"schema": "sgdsim/model/1", "hidden": 8, "layers": 1, "heads": 1,
        "mlp": {"width": 8}, "vocabulary": 8, "hiden": 3})",
       "hiden"},
      {"too many parameters", R"({"schema": "sgdsim/model/1", "hidden": 10000000, "layers": 10000,
        "heads": 1, "mlp": {"width": 10000000}, "vocabulary": 8})",
       "more than 10^15 parameters"},
  };
  for (const Row& row : rows) {
    INFO(row.reason);
    INFO(refusal_of_model(row.text));
    CHECK(refusal_of_model(row.text).find(row.sentence) != std::string::npos);
  }
}

TEST_CASE("models: `sgdsim model show` says both conventions and every stage") {
  const Ran ran = run_sgdsim({"model", "show", "llama3.1_405b", "--layout",
                              "tp8 pp9 vp7 dp2 ga63 zero1 sp", "--format", "json"});
  REQUIRE(ran.exit_code == 0);
  const Json json = Json::parse(ran.out);
  CHECK(json["parameters"]["total"] == total("llama3.1_405b"));
  CHECK(json["stages"].size() == 9);
  CHECK(json["stages"][0]["peak"]["in_flight"] == 2 * 8 + 6 * 9 + 1);
  const Ran file =
      run_sgdsim({"model", "show", "tests/data/hugging_face_config.json", "--format", "json"});
  REQUIRE(file.exit_code == 0);
  const int64_t h = 2048;
  CHECK(Json::parse(file.out)["parameters"]["total"] ==
        24 * (2 * h * h + 2 * h * 512 + 16 * 3 * h * 5632 + 16 * h + 2 * h) + h + 2 * 32000 * h);
  const Ran none = run_sgdsim({"model", "show", "llama3.1_9b"});
  CHECK(none.exit_code == 2);
  CHECK(none.log.find("llama3.1_8b") != std::string::npos);
  const Ran large = run_sgdsim(
      {"model", "show", "llama3.1_70b", "--layout", "tp8 dp8 ga2 sp", "--memory", "80GB"});
  CHECK(large.exit_code == 2);
  CHECK(large.log.find(" would save ") != std::string::npos);
}

// Llama 3.1 8B: 4,096 wide, 32 heads and 8 of keys and values of 128 each, an MLP of 14,336 with a
// gate, 128,256 words, of which a GPU of two has half. Qwen3 30B: of 128 experts of 768, 8 a token,
// a GPU of eight has 16, to which 32,768 tokens x 8 / 128 go; those of all eight GPUs meet.
TEST_CASE("models: `sgdsim model show` lists the products of a GPU") {
  const auto products_of = [](const char* model, const char* layout, const char* sequence) {
    const Ran ran = run_sgdsim(
        {"model", "show", model, "--layout", layout, "--sequence", sequence, "--format", "json"});
    REQUIRE(ran.exit_code == 0);
    return Json::parse(ran.out)["products"];
  };
  const auto product = [](int rows, int columns, int inner, int groups = 1) {
    return Json{{"rows", rows}, {"columns", columns}, {"inner", inner}, {"groups", groups}};
  };
  CHECK(products_of("llama3.1_8b", "tp2 dp4 zero1 sp", "8192") ==
        Json::array({product(8192, (4096 + 2 * 1024) / 2, 4096), product(8192, 4096, 4096 / 2),
                     product(8192, 2 * 14336 / 2, 4096), product(8192, 4096, 14336 / 2),
                     product(8192, 128256 / 2, 4096)}));
  CHECK(products_of("qwen3_30b_a3b", "ep8 dp8 zero1", "4096") ==
        Json::array({product(4096, (32 + 2 * 4) * 128, 2048), product(4096, 2048, 32 * 128),
                     product(4096, 128, 2048), product(8 * 4096 * 8 / 128, 2 * 768, 2048, 16),
                     product(8 * 4096 * 8 / 128, 2048, 768, 16), product(4096, 151936, 2048)}));
  const Ran text = run_sgdsim({"model", "show", "llama3.1_8b", "--layout", "tp2 dp4 zero1 sp"});
  CHECK(text.out.find("--shape:\n8192x3072x4096,8192x4096x2048,") != std::string::npos);
}

}  // namespace
}  // namespace sgdsim
