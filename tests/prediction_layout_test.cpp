// Modules that predict further tokens, and experts that are split themselves.
#include <doctest/doctest.h>

#include "models/training/expert_exchanges.h"
#include "models/training/memory.h"
#include "models/training/step_on_wires.h"
#include "models/training/training_flop.h"
#include "models/training/transformer_file.h"
#include "study/layout/layout_files.h"
#include "tests/cluster_cases.h"
#include "tests/free_gpu.h"
#include "tests/texts.h"
#include "tests/training_cases.h"

namespace sgdsim {
namespace {

Transformer mixture() {
  Transformer model = small_model();
  model.layers = 4;
  model.kv_heads = model.heads;
  model.experts = Experts{.count = 16, .per_token = 2, .width = 512, .shared = 1};
  return model;
}

double total_of_stages(const Transformer& model, const std::string& text) {
  const Layout layout = parse_layout(text, "");
  double all = 0;
  for (int64_t stage = 0; stage < layout.pipeline; ++stage)
    all += rank_parameters(model, layout, stage).all();
  return all;
}

// "11.5B unique parameters, excluding the shared 0.9B Embedding and 0.9B output Head"
// (README_WEIGHTS.md of DeepSeek-V3), which is the layer without the matrix of 2h x h.
TEST_CASE("predictions: parameters of DeepSeek-V3's module") {
  const Transformer model = load_model("deepseek_v3");
  const double matrix = 2.0 * 7168 * 7168;
  CHECK(static_cast<double>(prediction_parameters(model)) - matrix ==
        doctest::Approx(11.5e9).epsilon(0.001));
  const double main = static_cast<double>(parameters_of(model).total);
  const auto module = static_cast<double>(prediction_parameters(model));
  CHECK(total_of_stages(model, "mtp=1") == main + module);
  // The last stage needs the embedding, too, where it does not have it.
  CHECK(total_of_stages(model, "pp61 mtp=1") == main + module + 129280.0 * 7168);
  CHECK(total_of_stages(model, "pp61 mtp=2") == main + 2 * module + 129280.0 * 7168);
  CHECK(total_of_stages(model, "mtp=0") == main);
}

TEST_CASE("predictions: config.json, model files and layouts say them") {
  const Transformer read = load_model(SGDSIM_SOURCE_DIR "/tests/data/hugging_face_config.json");
  CHECK(read.predictions == 0);
  const Json config = {
      {"model_type", "deepseek_v3"}, {"hidden_size", 64},          {"num_hidden_layers", 2},
      {"num_attention_heads", 4},    {"num_key_value_heads", 4},   {"intermediate_size", 128},
      {"vocab_size", 100},           {"kv_lora_rank", 8},          {"q_lora_rank", 8},
      {"qk_nope_head_dim", 8},       {"qk_rope_head_dim", 4},      {"v_head_dim", 8},
      {"n_routed_experts", 8},       {"num_experts_per_tok", 2},   {"moe_intermediate_size", 32},
      {"n_shared_experts", 1},       {"first_k_dense_replace", 1}, {"num_nextn_predict_layers", 1}};
  const Transformer model = read_transformer(Value(config, "config.json", ""));
  CHECK(model.predictions == 1);
  CHECK(predictions_of(model, parse_layout("dp2", "")) == 1);
  CHECK(predictions_of(model, parse_layout("dp2 mtp=0", "")) == 0);
  CHECK(predictions_of(model, parse_layout("dp2 lora=4", "")) == 0);
  const Json file = to_json(model);
  CHECK(file["predictions"] == 1);
  CHECK(read_transformer(Value(file, "model.json", "")).predictions == 1);
  CHECK(!to_json(small_model()).contains("predictions"));
  CHECK(to_text(parse_layout("pp2 ga4 mtp=1", "")) == "pp2 ga4 zero0 mtp=1");
  for (const auto& row : std::vector<std::pair<std::string, std::string>>{
           {"mtp=17", "expected a whole number from 0 to 16"},
           {"mtp=-1", "expected a whole number"},
           {"mtp=", "expected a whole number"}})
    CHECK(holds(refusal_of([&] { parse_layout(row.first, ""); }), row.second));
  const Transformer images = load_model("vit_large");
  CHECK(holds(misfit_of(images, parse_layout("mtp=1", ""), images.sequence), "leave it out"));
}

// A layer as the last one, 2 h x h, and the head once more; three times forward.
TEST_CASE("predictions: FLOP, and the load of the last stage") {
  const Transformer model = mixture();
  const Gpu gpu = free_gpu();
  const double h = 1024, s = 2048, v = 32000;
  const double experts = 3 * h * 512 * 3 + h * 16;  // two that are chosen, one shared, the router
  const double forward = 2 * s * (4 * h * h + experts + 2 * h * h + v * h);
  CHECK(prediction_product_flop(model, 2048) == forward);
  const Cluster cluster = free_cluster(4);
  const auto step_of = [&](const std::string& text) {
    const Layout layout = parse_layout(text, "");
    GroupTimes groups(cluster, layout.gpus());
    return hybrid_step({model, layout, 2048, gpu, Precision::bf16}, groups);
  };
  const double more = step_of("ga4 mtp=2").parts.products - step_of("ga4").parts.products;
  CHECK(more == doctest::Approx(4 * 2 * 3 * forward / free_flops));
  CHECK(step_of("pp4 ga8 mtp=1").slowest_stage == 3);
  CHECK(step_of("pp4 ga8 mtp=1").forward_s - step_of("pp4 ga8").forward_s ==
        doctest::Approx(
            (forward + attention_core_flop(model, Mixing::full, 2048, FlopConvention::halved)) /
            free_flops));
  const Layout layout = parse_layout("ga4 mtp=1", "");
  CHECK(training_flop({model, layout, 2048, gpu, Precision::bf16}, FlopConvention::halved) ==
        doctest::Approx(sequence_flop(model, 2048, FlopConvention::halved) +
                        prediction_flop(model, 2048, FlopConvention::halved)));
}

TEST_CASE("predictions: memory of the last stage") {
  const Transformer model = mixture();
  const auto memory = [&](const char* text) {
    return stage_memory(model, parse_layout(text, ""), 2048, 1);
  };
  const LayerKind kind{.mlp = Mlp::experts};
  const double inputs = 4 * 2 * 2048.0 * 1024;
  const double layer_B = layer_activations_B(model, parse_layout("pp2", ""), 2048, kind);
  CHECK(memory("pp2 ga4 mtp=1").activations_B - memory("pp2 ga4").activations_B ==
        doctest::Approx(layer_B + inputs));
  CHECK(memory("pp2 ga4 mtp=1").ends_B - memory("pp2 ga4").ends_B ==
        doctest::Approx(6 * 2048.0 * 32000));
  CHECK(memory("pp2 ga4 mtp=1 recompute=full").activations_B -
            memory("pp2 ga4 recompute=full").activations_B ==
        doctest::Approx(inputs + 2 * 2048.0 * 1024));
}

// Each rank has its part of every expert of its group, and all inputs of that group.
TEST_CASE("split experts: parameters, memory and the same FLOP") {
  const Transformer model = mixture();
  const Layout whole = parse_layout("dp4 ep2", "");
  const Layout split = parse_layout("dp4 ep2 etp2", "");
  const LayerKind kind{.mlp = Mlp::experts};
  CHECK(rank_layer_parameters(model, split, kind).experts ==
        rank_layer_parameters(model, whole, kind).experts / 2);
  CHECK(split.expert_shards() == 1);
  CHECK(whole.expert_shards() == 2);
  CHECK(layer_activations_B(model, split, 2048, kind) -
            layer_activations_B(model, whole, 2048, kind) ==
        doctest::Approx(2048 * 2 * 2 * 1024.0));
  const Gpu gpu = free_gpu();
  const Cluster cluster = free_cluster(4);
  GroupTimes groups(cluster, 4);
  CHECK(hybrid_step({model, split, 2048, gpu, Precision::bf16}, groups).parts.products ==
        doctest::Approx(
            hybrid_step({model, whole, 2048, gpu, Precision::bf16}, groups).parts.products));
  for (const auto& row : std::vector<std::pair<std::string, std::string>>{
           {"dp4 etp3", "columns of an expert"},
           {"dp4 ep2 etp4", "do not divide by ep x etp = 8"},
           {"dp4 ep4 etp2 hsdp2 zero1", "do not divide by"}})
    CHECK(holds(misfit_of(model, parse_layout(row.first, ""), 2048), row.second));
  CHECK(holds(misfit_of(small_model(), parse_layout("dp4 etp2", ""), 2048), "no experts to split"));
}

// A ring of a group's ranks: (n - 1) times what each has, going out and coming back.
TEST_CASE("split experts and predictions: bytes on wires are those of the formulas") {
  const Transformer model = mixture();
  const Gpu gpu = load_gpu("h100");
  const LayerKind kind{.mlp = Mlp::experts};
  for (const char* text :
       {"dp4 etp2 ga2", "dp4 ep2 etp2 ga2", "tp2 sp dp4 ep2 etp2 zero1 ga2", "dp8 ep2 etp4 zero3",
        "dp2 etp2 ga2 mtp=1", "dp4 ep2 zero3 ga2 mtp=2 recompute=full",
        "pp2 dp2 etp2 ga4 schedule=zb1p", "pp2 dp2 ep2 ga4 mtp=1"}) {
    CAPTURE(text);
    const Layout layout = parse_layout(text, "");
    REQUIRE(misfit_of(model, layout, 2048) == "");
    const Cluster cluster = one_switch(layout.gpus());
    GroupTimes groups(cluster, layout.gpus());
    const TrainingStep step{model, layout, 2048, gpu, Precision::bf16};
    const double of_stage = static_cast<double>(layout.gpus() / layout.pipeline);
    const double batches = static_cast<double>(layout.micro_batches);
    const LayerTraffic once = layer_traffic(step, kind, layout.recompute == Recompute::full);
    const auto& [to_experts, to_parts] = expert_exchanges(step, 1).all;
    const double passes = layout.recompute == Recompute::full ? 3 : 2;
    const double of_layer = once.tensor_forward_B + once.tensor_backward_B +
                            passes * (to_experts.sent_B() + to_parts.sent_B());
    if (layout.expert_tensor > 1) {
      const double t = static_cast<double>(layout.tensor);
      const double parts = static_cast<double>(layout.expert_tensor - 1);
      CHECK(to_parts.sent_B() == doctest::Approx(parts * 2 * (2048 / t * 2 * 1024 * 2)));
    }
    double expected_B = 0;
    for (int64_t stage = 0; stage < layout.pipeline; ++stage)
      expected_B += of_stage *
                    (batches * static_cast<double>(layers_of_stage(model, layout, stage).layers()) *
                         of_layer +
                     data_traffic_B(step, stage));
    if (layout.pipeline > 1) {
      expected_B += of_stage * batches * 2 * boundary_B(step);
      // Both stages agree on the embedding, which the module reads, too: a ring of two.
      if (predictions_of(model, layout) > 0) expected_B += of_stage * 2 * 4 * 32000.0 * 1024;
    }
    const StepOnWires wires = play_on_wires(step, cluster, groups, {}, {});
    CHECK(wires.wire_B == doctest::Approx(expected_B).epsilon(1e-5));
    CHECK(play_step(step, groups).step.time.s() ==
          doctest::Approx(hybrid_step(step, groups).time.s()).epsilon(0.2));
  }
}

}  // namespace
}  // namespace sgdsim
