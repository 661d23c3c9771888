// Fine-tuning with frozen weights: adapters as published programs count them, and FLOP, memory and
// exchanges without gradients of what is frozen.
#include <doctest/doctest.h>

#include "models/training/layer_matrices.h"
#include "models/training/memory.h"
#include "models/training/step_on_wires.h"
#include "models/training/training_flop.h"
#include "sim/core/error.h"
#include "study/layout/layout_files.h"
#include "tests/cluster_cases.h"
#include "tests/free_gpu.h"
#include "tests/run_program.h"
#include "tests/texts.h"
#include "tests/training_cases.h"

namespace sgdsim {
namespace {

double adapters_of(const Transformer& model, const std::string& text, int64_t stage = 0) {
  const RankParameters held = rank_parameters(model, parse_layout(text, ""), stage);
  return held.adapters + held.expert_adapters;
}

TEST_CASE("lora: words are read, written and refused") {
  for (const char* text :
       {"zero0 lora=16", "dp8 zero3 lora=64:attention frozen=nf4", "dp2 zero1 lora=8:mlp"}) {
    CHECK(to_text(parse_layout(text, "")) == text);
    const Json json = to_json(parse_layout(text, ""));
    CHECK(read_layout(Value(json, "layout.json", "")) == parse_layout(text, ""));
  }
  CHECK(to_text(parse_layout("dp2 lora=none", "")) == "dp2 zero0");
  CHECK(to_text(parse_layout("dp2 lora=16:all", "")) == "dp2 zero0 lora=16");
  for (const auto& row : std::vector<std::pair<std::string, std::string>>{
           {"lora=0", "expected a whole number from 1 to 65536 after \"lora=\""},
           {"lora=", "expected a whole number"},
           {"lora=-4", "expected a whole number"},
           {"lora=99999999999999999999", "expected a whole number"},
           {"lora=16:head", "unknown products of lora \"head\""},
           {"lora=16:", "unknown products of lora"},
           {"lora=16 lora=8", "occurs twice"},
           {"frozen=int3", "unknown frozen \"int3\""}})
    CHECK(holds(refusal_of([&] { parse_layout(row.first, ""); }), row.second));
  const Transformer model = small_model();
  for (const auto& [text, says] : std::vector<std::pair<std::string, std::string>>{
           {"frozen=nf4", "say lora=16"},
           {"lora=2048", "a rank of at most 1024"},
           {"lora=16 recompute=operations", "say recompute=full"},
           {"lora=16 mtp=1", "leave it out"}})
    CHECK(holds(misfit_of(model, parse_layout(text, ""), 2048), says));
  Transformer alone = small_model();
  alone.mixing_pattern = {Mixing::none};
  CHECK(holds(misfit_of(alone, parse_layout("lora=16:attention", ""), 2048), "adapts nothing"));
}

// What PEFT prints for Llama 3 8B: "trainable params" of r=16 on q, k, v, o, and on all seven.
TEST_CASE("lora: parameters are those that PEFT prints") {
  const Transformer model = load_model("llama3.1_8b");
  CHECK(adapters_of(model, "lora=16") == 41'943'040);
  CHECK(adapters_of(model, "lora=8") == 20'971'520);
  CHECK(adapters_of(model, "lora=16:attention") == 13'631'488);
  CHECK(adapters_of(model, "lora=16:mlp") == 41'943'040 - 13'631'488);
  CHECK(adapters_of_token(model, {.rank = 16}) == 41'943'040);
  CHECK(adapters_of(model, "zero0") == 0);
}

// Of two tensor-parallel ranks each has the side of a pair that is not split whole.
TEST_CASE("lora: adapters with tensor and expert parallelism") {
  const Transformer model = load_model("llama3.1_8b");
  const double h = 4096, k = 1024, f = 14336;
  const double attention = 3 * h + (h + 2 * k) / 2 + h / 2 + h;
  const double mlp = 2 * h + 2 * f / 2 + f / 2 + h;
  CHECK(adapters_of(model, "tp2 lora=16") == 32 * 16 * (attention + mlp));
  // Each expert has three pairs, and a rank has those of its experts; with etp half of one side.
  Transformer mixture = small_model();
  mixture.experts = Experts{.count = 16, .per_token = 2, .width = 512};
  const double narrow = 1024 + 512;
  CHECK(adapters_of(mixture, "dp4 ep4 lora=4:mlp") == 48 * 4 * 4 * 3 * narrow);
  CHECK(adapters_of(mixture, "dp4 ep2 etp2 lora=4:mlp") ==
        48 * 8 * 4 * (2 * (1024 + 256.0) + 256 + 1024));
  CHECK(adapters_of_token(mixture, {.rank = 4, .products = LoraProducts::mlp}) ==
        48 * 2 * 4 * 3 * narrow);
}

TEST_CASE("lora: NF4 with quantized constants is 4.127 bits a weight, as QLoRA says") {
  CHECK(8 * frozen_B(FrozenFormat::nf4) == doctest::Approx(4.127).epsilon(1e-4));
}

// Forward, and gradients of inputs: two thirds; adapters three times.
TEST_CASE("lora: FLOP without gradients of frozen weights") {
  Transformer model = small_model();
  const Gpu gpu = free_gpu();
  const Cluster cluster = free_cluster(1);
  GroupTimes groups(cluster, 1);
  const double products = sequence_product_flop(model, 2048);
  const double core = 48 * attention_core_flop(model, Mixing::full, 2048, FlopConvention::halved);
  for (const char* text : {"mbs2 ga4 lora=16", "mbs2 ga4 lora=16:attention"}) {
    const Layout layout = parse_layout(text, "");
    const double adapters = 2 * 2048 * adapters_of(model, text);
    const TrainingStep step{model, layout, 2048, gpu, Precision::bf16};
    const HybridStep priced = hybrid_step(step, groups);
    CHECK(priced.parts.products ==
          doctest::Approx(8 * (2 * products + 3 * adapters) / free_flops).epsilon(1e-9));
    CHECK(training_flop(step, FlopConvention::halved) ==
          doctest::Approx(2 * products + 3 * (adapters + core)).epsilon(1e-12));
    CHECK(priced.weight_s == doctest::Approx(2 * adapters / free_flops).epsilon(1e-9));
  }
}

// NeMo AutoModel's page of performance: Llama 3 70B with LoRA on eight H100, 608.42 tokens/s and
// 176 TFLOP/s of a GPU, rank 16 on all linear layers. Its FLOP leave out adapters and half of
// attention.
TEST_CASE("lora: FLOP of a published step") {
  const Transformer model = load_model("llama3.1_70b");
  const Gpu gpu = load_gpu("h100");
  const Layout layout = parse_layout("tp2 pp4 vp10 ga32 lora=16", "");
  const TrainingStep step{model, layout, 4096, gpu, Precision::bf16};
  CHECK(training_flop(step, FlopConvention::halved) / 4096 * 608.42 ==
        doctest::Approx(176e12).epsilon(0.03));
}

TEST_CASE("lora: only adapters have gradients and states") {
  const Transformer model = load_model("llama3.1_8b");
  const double all = static_cast<double>(parameters_of(model).total);
  const double adapters = 41'943'040;
  const StageMemory plain = stage_memory(model, parse_layout("lora=16", ""), 8192, 0);
  CHECK(plain.weights_B == 2 * (all + adapters));
  CHECK(plain.gradients_B == 4 * adapters);
  CHECK(plain.optimizer_B == 12 * adapters);
  CHECK(plain.placeholders_B == 0);
  const StageMemory shared = stage_memory(model, parse_layout("dp8 zero3 lora=16", ""), 8192, 0);
  CHECK(shared.weights_B == doctest::Approx(2 * (all + adapters) / 8));
  CHECK(shared.optimizer_B == doctest::Approx(12 * adapters / 8));
  // Attention and MLP of each layer in 4.127 bits; embedding, head and norms in BF16. One matrix is
  // widened at a time, gate and up together.
  const ParameterCount count = parameters_of(model);
  const double matrices = static_cast<double>(count.attention + count.mlp);
  const StageMemory narrow = stage_memory(model, parse_layout("lora=16 frozen=nf4", ""), 8192, 0);
  CHECK(narrow.weights_B ==
        doctest::Approx(frozen_B(FrozenFormat::nf4) * matrices + 2 * (all - matrices + adapters)));
  CHECK(narrow.gathered_B == 2 * 2.0 * 14336 * 4096);
  // Before logits all of the head is there, whose 128,256 columns are more than two layers of NF4.
  for (const char* recompute : {"", " recompute=full"}) {
    const std::string text = "dp8 zero3 lora=16 frozen=nf4" + std::string(recompute);
    CHECK(stage_memory(model, parse_layout(text, ""), 8192, 0).gathered_B == 2.0 * 128256 * 4096);
    CHECK(stage_memory(model, parse_layout("tp2 dp4" + text.substr(3), ""), 8192, 0).gathered_B ==
          128256.0 * 4096);
  }
  CHECK(saved_B(model, parse_layout("lora=16", ""), 0) == 14 * adapters);
}

// A frozen product needs no input for its own gradient: those that norms make, and the one of the
// last matrix of the MLP. Queries, keys, values and scores of attention need theirs.
TEST_CASE("lora: activations that frozen products do not keep") {
  const Transformer model = load_model("llama3.1_8b");
  const double tokens = 8192, h = 4096, f = 14336;
  const auto kept = [&](const char* text) {
    return layer_activations_B(model, parse_layout(text, ""), 8192, {});
  };
  const double full = kept("zero0");
  CHECK(kept("lora=16") == full + tokens * 2 * 16 * 7);
  CHECK(kept("lora=16:attention") == full + tokens * 2 * (16 * 4 - h - f));
  CHECK(kept("lora=16:mlp") == full + tokens * 2 * (16 * 3 - h));
  CHECK(layer_inputs_B(model, parse_layout("lora=16 recompute=full", ""), 8192) == tokens * 2 * h);
}

// Gradients of adapters, and with zero3 all weights, in the bytes in which they are kept.
TEST_CASE("lora: replicas exchange adapters only") {
  const Transformer model = load_model("llama3.1_8b");
  const Gpu gpu = load_gpu("h100");
  const double trained = 41'943'040;
  for (const auto& [format, matrix_B] :
       {std::pair("bf16", 2.0), std::pair("nf4", frozen_B(FrozenFormat::nf4))}) {
    const ParameterCount count = parameters_of(model);
    const double matrices = static_cast<double>(count.attention + count.mlp);
    const double frozen = matrix_B * matrices + 2 * (static_cast<double>(count.total) - matrices);
    const auto sent = [&, name = std::string(format)](const char* zero) {
      const Layout layout = parse_layout("dp8 ga3 lora=16 frozen=" + name + " " + zero, "");
      return data_traffic_B({model, layout, 8192, gpu, Precision::bf16}, 0);
    };
    CHECK(sent("zero0") == doctest::Approx(trained * 8 * 7 / 8));
    CHECK(sent("zero1") == doctest::Approx(trained * (4 + 2) * 7 / 8));
    CHECK(sent("zero2") == doctest::Approx(trained * (3 * 4 + 2) * 7 / 8));
    CHECK(sent("zero3") == doctest::Approx(3 * (2 * (2 * trained + frozen) + 4 * trained) * 7 / 8));
    CHECK(sent("zero3 reshard=off") ==
          doctest::Approx(3 * ((2 * trained + frozen) + 4 * trained) * 7 / 8));
  }
}

TEST_CASE("lora: passes and wires agree, and bytes are those of the formulas") {
  Transformer model = small_model();
  model.layers = 4;
  model.kv_heads = model.heads;
  model.vocabulary = 1;
  const Gpu gpu = load_gpu("h100");
  for (const char* text : {"dp4 zero3 ga2 lora=16", "dp2 ga2 zero1 lora=16", "pp2 ga4 lora=8:mlp",
                           "pp4 ga8 schedule=zb1p lora=64", "pp2 vp2 ga8 schedule=zbv lora=4",
                           "pp2 dp2 ga4 zero1 schedule=dualpipe lora=16 frozen=nf4",
                           "tp2 sp dp2 zero2 ga2 lora=16 frozen=fp8 recompute=full"}) {
    CAPTURE(text);
    const Layout layout = parse_layout(text, "");
    REQUIRE(misfit_of(model, layout, 2048) == "");
    const Cluster cluster = one_switch(layout.gpus());
    GroupTimes groups(cluster, layout.gpus());
    const TrainingStep step{model, layout, 2048, gpu, Precision::bf16};
    const HybridStep formula = hybrid_step(step, groups);
    const StepOnWires wires = play_on_wires(step, cluster, groups, {}, {});
    const PlayedStep passes = play_step(step, groups);
    CHECK(passes.step.time.s() <= 1.2 * formula.time.s());
    CHECK(passes.step.time.s() >= 0.75 * formula.time.s());
    CHECK(wires.step.time.s() >= passes.step.time.s() * (1 - 1e-7) * 0.95);
    if (layout.pipeline > 1 || layout.tensor > 1) continue;
    const double sent_B = static_cast<double>(layout.gpus()) * data_traffic_B(step, 0);
    CHECK(wires.wire_B == doctest::Approx(sent_B).epsilon(1e-5));
    // Kernels of the head are spread over the layers of a pass, or lie at its end.
    if (layout.zero == 3)
      CHECK(wires.step.time.s() == doctest::Approx(passes.step.time.s()).epsilon(2e-4));
  }
}

TEST_CASE("lora: a search, a sweep, a bound and neighbours know it") {
  const std::string box = "topologies/data/dgx_h100_4.json";
  const Ran found = run_sgdsim({"layout", "llama3.1_70b", "-c", box, "--gpus", "8", "--with",
                                "lora=16 frozen=nf4", "--format", "json"});
  CAPTURE(found.log);
  REQUIRE(found.exit_code == 0);
  const Json best = Json::parse(found.out)["layouts"][0];
  CHECK(holds(best["layout"].get<std::string>(), "lora=16 frozen=nf4"));
  CHECK(best["memory_GiB"] < 78);
  // All weights of 70 billion do not fit on eight GPUs.
  CHECK(run_sgdsim({"layout", "llama3.1_70b", "-c", box, "--gpus", "8"}).exit_code == 2);
  const Ran axis = run_sgdsim({"layout", "llama3.1_8b", "-c", box, "--gpus", "8", "--axis",
                               "with=lora=8,lora=64 frozen=nf4", "--format", "json"});
  CHECK(axis.exit_code == 0);
  CHECK(holds(axis.out, "lora=64 frozen=nf4"));
  const Ran near = run_sgdsim({"layout", "llama3.1_8b", "-c", box, "--gpus", "8", "--near",
                               "dp8 zero1 lora=16", "--format", "json"});
  CHECK(near.exit_code == 0);
  CHECK(holds(near.out, "zero3 lora=16"));
  const Ran need =
      run_sgdsim({"need", "--model", "llama3.1_8b", "-c", box, "--layout", "zero1 lora=16",
                  "--global-batch", "64", "--axis", "gpus=8..32", "--target", "step=3s"});
  CAPTURE(need.log);
  CHECK(need.exit_code == 0);
  CHECK(holds(need.out, "lora=16"));
  for (const auto& [words, says] : std::vector<std::pair<std::vector<std::string>, std::string>>{
           {{"--layout", "dp8 zero1", "--with", "lora=16"}, "say \"lora=16\" in --layout"},
           {{"--with", "tp2 lora=16"}, "tp2 is what a search tries itself"},
           {{"--with", "zero1"}, "zero1 is what a search tries itself"},
           {{"--with", "tp1"}, "tp1 is what a search tries itself"},
           {{"--with", "lora=16 recompute=none"}, "recompute=none is what a search tries itself"},
           {{"--with", "frozen=nf4"}, "say lora=16"}}) {
    std::vector<std::string> all = {"layout", "llama3.1_8b", "-c", box, "--gpus", "8"};
    all.insert(all.end(), words.begin(), words.end());
    const Ran refused = run_sgdsim(all);
    CAPTURE(refused.log);
    CHECK(refused.exit_code == 2);
    CHECK(holds(refused.log, says));
  }
}

}  // namespace
}  // namespace sgdsim
