// Modules that a backward pass computes again: what it takes, what is no longer kept, what is
// exchanged once more, and how programs say so.
#include "models/training/recomputed_modules.h"

#include <doctest/doctest.h>

#include "models/training/activations.h"
#include "models/training/element_times.h"
#include "models/training/expert_exchanges.h"
#include "models/training/link_load.h"
#include "models/training/modules_again.h"
#include "models/training/near_layouts.h"
#include "models/training/step_on_wires.h"
#include "sim/core/error.h"
#include "study/layout/foreign_layout.h"
#include "study/layout/layout_files.h"
#include "tests/cluster_cases.h"
#include "tests/texts.h"
#include "tests/training_cases.h"

namespace sgdsim {
namespace {

constexpr int64_t module_sequence = 2048;
constexpr double module_tokens = 2048;

// No start-ups, so that a time is its FLOP and its bytes.
Gpu without_starts() {
  Gpu gpu = undisturbed("h100");
  gpu.kernel = gpu.layer = gpu.exchange = gpu.attention_start = Duration();
  return gpu;
}

struct AskedLayer {
  Transformer model;
  Layout layout;
  Gpu gpu = without_starts();
  Cluster cluster = one_switch(64);

  LayerTimes times(LayerKind kind) {
    GroupTimes groups(cluster, layout.gpus());
    return layer_times({model, layout, module_sequence, gpu, Precision::bf16}, groups, kind);
  }
};

AskedLayer asked(const Transformer& model, const std::string& text) {
  AskedLayer one{.model = model, .layout = parse_layout(text, "")};
  REQUIRE(misfit_of(model, one.layout, module_sequence) == "");
  return one;
}

// Attention and then experts, the first layer dense, one shared expert.
Transformer mixture() {
  Transformer model = small_mixture(4);
  model.experts->shared = model.experts->first_dense = 1;
  return model;
}

constexpr LayerKind of_experts{.mlp = Mlp::experts};
constexpr LayerKind of_dense{.mlp = Mlp::dense};
constexpr LayerKind experts_alone{.mixing = Mixing::none, .mlp = Mlp::experts};
constexpr LayerKind dense_alone{.mixing = Mixing::none, .mlp = Mlp::dense};

}  // namespace

// A layer without attention is a norm, its MLP, and a sum with the residual, which alone is not
// computed again: it reads two values and writes one.
TEST_CASE("modules again: a layer of norm and MLP is its forward pass but for the sum") {
  const Transformer model = mixture();
  for (const auto& row : {std::pair<LayerKind, std::string>{experts_alone, "layernorm+moe"},
                          {dense_alone, "layernorm+mlp"}})
    for (const std::string text :
         {"dp8 ep8", "tp2 sp dp4 ep4", "tp2 sp dp8 ep4 etp2", "tp2 sp dp4 ep8 dispatch=node"}) {
      const LayerKind kind = row.first;
      const std::string& modules = row.second;
      CAPTURE(text);
      CAPTURE(modules);
      AskedLayer plain = asked(model, text);
      AskedLayer again = asked(model, text + " recompute=modules:" + modules);
      const LayerTimes before = plain.times(kind);
      const LayerTimes after = again.times(kind);
      const double t = static_cast<double>(again.layout.tensor);
      const double sum_s = again.gpu.bytes_s(2 * 3 * 1024 * module_tokens / t);
      CHECK(after.forward.all() == before.forward.all());
      CHECK(after.backward.products - before.backward.products ==
            doctest::Approx(before.forward.products));
      CHECK(after.backward.element_wise - before.backward.element_wise ==
            doctest::Approx(before.forward.element_wise - sum_s));
      CHECK(after.backward.expert - before.backward.expert ==
            doctest::Approx(before.forward.expert));
      CHECK(after.backward.tensor - before.backward.tensor ==
            doctest::Approx(before.forward.tensor));
      CHECK(after.backward.weight_products == before.backward.weight_products);
    }
}

// Counted by hand from Megatron-LM's fused_bias_geglu.py and experts.py. Of two values of a visit
// that go into the activation: each is cut off (read and written) and copied (likewise), 16 bytes;
// backward one mask (3) and choice (5), two masks, their product (9) and a choice (5), and a copy
// (4 each), 30 bytes. Of each value behind the last matrix 12 bytes, and 16 backward.
TEST_CASE("modules again: limits and biases of experts are kernels of their own") {
  Transformer model = mixture();
  const double visits = 2 * module_tokens;
  const auto bytes_of = [&](const std::string& words) {
    AskedLayer one = asked(model, "dp8 ep8" + words);
    const LayerTimes times = one.times(of_experts);
    const double s_of_byte = one.gpu.bytes_s(1);
    return std::pair{times.forward.element_wise / s_of_byte,
                     times.backward.element_wise / s_of_byte};
  };
  const auto grows = [&](const std::string& words, bool limited, bool bias) {
    const auto before = bytes_of(words);
    model.experts->limited = limited;
    model.experts->bias = bias;
    const auto after = bytes_of(words);
    model.experts->limited = model.experts->bias = false;
    return std::pair{after.first - before.first, after.second - before.second};
  };
  const double width = static_cast<double>(model.experts->width);
  const double hidden = static_cast<double>(model.hidden);
  const auto limits = grows("", true, false);
  CHECK(limits.first == doctest::Approx(16 * width * visits));
  CHECK(limits.second == doctest::Approx(30 * width * visits));
  const auto biases = grows("", false, true);
  CHECK(biases.first == doctest::Approx(12 * hidden * visits));
  CHECK(biases.second == doctest::Approx(16 * hidden * visits));
  const auto again = grows(" recompute=modules:moe_act", true, true);
  CHECK(again.second == doctest::Approx((30 + 16) * width * visits + 16 * hidden * visits));
  const auto all_again = grows(" recompute=modules:moe", true, true);
  CHECK(all_again.second ==
        doctest::Approx((30 + 16) * width * visits + (16 + 12) * hidden * visits));
  const auto compiled = grows(" kernels=compiled", true, true);
  CHECK(compiled.first == 0);
  CHECK(compiled.second == 0);

  // What was cut off is kept, too, unless it is made again.
  const auto kept = [&](const std::string& words, bool limited) {
    model.experts->limited = limited;
    const double bytes = layer_activations_B(model, parse_layout("dp8 ep8" + words, ""),
                                             module_sequence, of_experts);
    model.experts->limited = false;
    return bytes;
  };
  CHECK(kept("", true) - kept("", false) == doctest::Approx(2 * 2 * width * visits));
  CHECK(kept(" recompute=modules:moe_act", true) == kept(" recompute=modules:moe_act", false));
  CHECK(kept(" kernels=compiled", true) == kept(" kernels=compiled", false));
}

TEST_CASE("modules again: single ones, as drawn") {
  const Transformer model = mixture();
  const auto more = [&](const std::string& modules, LayerKind kind) {
    LayerTimes before = asked(model, "dp8 ep8").times(kind);
    LayerTimes after = asked(model, "dp8 ep8 recompute=modules:" + modules).times(kind);
    CHECK(after.forward.all() == before.forward.all());
    CHECK(after.backward.expert == before.backward.expert);
    return std::pair{after.backward.products - before.backward.products,
                     after.backward.element_wise - before.backward.element_wise};
  };
  const Gpu gpu = without_starts();
  // Gate and up are read and their product written, of both visits of a token.
  const auto [act_products, act_s] = more("moe_act", of_experts);
  CHECK(act_products == 0);
  CHECK(act_s == doctest::Approx(gpu.bytes_s(2 * 3 * 2 * 512 * module_tokens)));
  CHECK(more("moe_act", of_dense).second == 0);
  // Two norms read and write.
  CHECK(more("layernorm", of_dense).second ==
        doctest::Approx(gpu.bytes_s(2 * 2 * 2 * 1024 * module_tokens)));
  // A shared expert of 512: its two products, and gate times up.
  const auto [shared_products, shared_s] = more("shared_experts", of_experts);
  const double up_flop = 2 * module_tokens * 1024 * 1024;
  const double up_B = 2 * (module_tokens * 1024 + 1024 * 1024 + module_tokens * 1024);
  const double down_flop = 2 * module_tokens * 512 * 1024;
  const double down_B = 2 * (module_tokens * 512 + 512 * 1024 + module_tokens * 1024);
  CHECK(shared_products == doctest::Approx(gpu.product_s(up_flop, up_B, Precision::bf16) +
                                           gpu.product_s(down_flop, down_B, Precision::bf16)));
  CHECK(shared_s == doctest::Approx(gpu.bytes_s(2 * 3 * 512 * module_tokens)));
  // Scores of attention, where they are written.
  AskedLayer scores = asked(model, "dp8 ep8 attention=unfused recompute=modules:core_attn");
  AskedLayer selective = asked(model, "dp8 ep8 attention=unfused recompute=selective");
  CHECK(scores.times(of_dense).backward.attention == selective.times(of_dense).backward.attention);
  CHECK(layer_activations_B(model, scores.layout, module_sequence, of_dense) ==
        layer_activations_B(model, selective.layout, module_sequence, of_dense));
}

// DeepSeek-V3: from vectors of 1,536 and 512 to 128 heads of 192, and of 128 + 128.
TEST_CASE("modules again: latent attention") {
  const Transformer model = load_model("deepseek_v3");
  AskedLayer plain = asked(model, "dp8");
  AskedLayer again = asked(model, "dp8 recompute=modules:mla_up_proj");
  const Gpu gpu = without_starts();
  const auto product_s = [&](double columns, double inner) {
    return gpu.product_s(2 * module_tokens * columns * inner,
                         2 * (module_tokens * inner + inner * columns + module_tokens * columns),
                         Precision::bf16);
  };
  CHECK(again.times(of_experts).backward.products - plain.times(of_experts).backward.products ==
        doctest::Approx(product_s(128 * 192, 1536) + product_s(128 * 256, 512)));
  // Queries and keys of 192, values of 128 are not kept.
  const auto kept = [&](const Layout& layout) {
    return layer_activations_B(model, layout, module_sequence, of_experts);
  };
  CHECK(kept(plain.layout) - kept(again.layout) ==
        doctest::Approx(2 * module_tokens * 128 * (192 + 192 + 128)));
  CHECK(layer_again_B(model, again.layout, module_sequence, of_experts) ==
        doctest::Approx(2 * module_tokens * 128 * (192 + 192 + 128)));
}

TEST_CASE("modules again: what is kept no longer") {
  const Transformer model = mixture();
  const auto less = [&](const std::string& words, const std::string& modules, LayerKind kind) {
    const Layout plain = parse_layout(words, "");
    const Layout again = parse_layout(words + " recompute=modules:" + modules, "");
    return layer_activations_B(model, plain, module_sequence, kind) -
           layer_activations_B(model, again, module_sequence, kind);
  };
  constexpr double value_B = 2 * module_tokens;  // of all tokens
  CHECK(less("dp8 ep8", "moe_act", of_experts) == doctest::Approx(value_B * 2 * 512));
  CHECK(less("dp8 ep8", "layernorm", of_experts) == doctest::Approx(value_B * 2 * 1024));
  CHECK(less("tp2 sp dp4 ep4", "layernorm", of_experts) == doctest::Approx(value_B * 1024));
  CHECK(less("tp2 sp dp4 ep4", "mlp", of_dense) == doctest::Approx(value_B * 3 * 4096 / 2));
  CHECK(less("dp8 ep8", "mlp", of_experts) == 0);
  CHECK(less("dp8 ep8", "shared_experts", of_experts) == doctest::Approx(value_B * 3 * 512));
  // Two visits of inputs, gate, up and product each, and the shared one.
  CHECK(less("dp8 ep8", "moe", of_experts) ==
        doctest::Approx(value_B * (2 * (1024 + 3 * 512) + 3 * 512)));
  // Nothing is kept twice: all of them together.
  CHECK(less("dp8 ep8", "layernorm+moe+mlp", of_experts) ==
        doctest::Approx(less("dp8 ep8", "layernorm", of_experts) +
                        less("dp8 ep8", "moe", of_experts)));
  // Frozen products keep no inputs that could be dropped.
  CHECK(less("dp8 ep8 lora=16:attention", "moe_act", of_experts) == 0);
  CHECK(less("dp8 ep8 lora=16:attention", "layernorm", of_experts) ==
        doctest::Approx(value_B * 1024));
}

TEST_CASE("modules again: messages carry what is exchanged once more") {
  const Transformer model = mixture();
  const Gpu gpu = undisturbed("h100");
  for (const std::string text :
       {"dp4 ep4", "tp2 sp dp4 ep4 ga2", "tp2 sp dp4 ep4 dispatch=node", "pp2 dp4 ep4 ga4",
        "pp2 dp4 ep2 ga4 schedule=zb1p", "tp2 sp dp4 ep4 etp2 zero1"})
    for (const std::string modules : {"moe+mlp", "shared_experts", "layernorm+moe_act", "mlp"}) {
      CAPTURE(text);
      CAPTURE(modules);
      AskedLayer plain = asked(model, text);
      AskedLayer again = asked(model, text + " recompute=modules:" + modules);
      const Cluster cluster = one_switch(again.layout.gpus());
      GroupTimes groups(cluster, again.layout.gpus());
      const TrainingStep step{model, again.layout, module_sequence, gpu, Precision::bf16};
      const TrainingStep other{model, plain.layout, module_sequence, gpu, Precision::bf16};
      const StepOnWires played = play_on_wires(step, cluster, groups, {}, {});
      const StepOnWires before = play_on_wires(other, cluster, groups, {}, {});
      const double t = static_cast<double>(again.layout.tensor);
      const bool has_moe = modules == "moe+mlp";
      double tokens_B = 0;
      if (has_moe)
        for (const ExpertExchange& one : expert_exchanges(step, 1).all) tokens_B += one.sent_B();
      const double pair_B = 2 * activation_B(step) * (t - 1) / t;
      const double of_experts_B = tokens_B + (modules == "shared_experts" || has_moe ? pair_B : 0);
      const double of_dense_B = modules == "mlp" || has_moe ? pair_B : 0;
      const double passes = static_cast<double>(again.layout.tensor * again.layout.replicas *
                                                again.layout.micro_batches);
      CHECK(played.wire_B - before.wire_B ==
            doctest::Approx(passes * (3 * of_experts_B + of_dense_B)).epsilon(1e-5).scale(1e6));
      if (again.layout.pipeline > 1) continue;
      CHECK(played.step.time.s() >= before.step.time.s());
      CHECK(played.step.time.s() ==
            doctest::Approx(step_on_links(step, groups).time.s()).epsilon(0.02));
    }
}

TEST_CASE("modules again: the word of a layout") {
  const Transformer model = mixture();
  const Transformer latent = load_model("deepseek_v3");
  CHECK(to_text(parse_layout("dp8 recompute=modules:moe_act+layernorm", "")) ==
        "dp8 zero0 recompute=modules:layernorm+moe_act");
  const Json written = to_json(parse_layout("dp8 recompute=modules:mlp+moe_act", ""));
  CHECK(written["recompute"] == "modules:mlp+moe_act");
  CHECK(read_layout(Value(written, "layout", "")) ==
        parse_layout("dp8 recompute=modules:moe_act+mlp", ""));
  for (const auto& row : std::vector<std::pair<std::string, std::string>>{
           {"recompute=modules", "needs names, as in modules:moe_act"},
           {"recompute=modules:", "unknown module \"\""},
           {"recompute=modules:mlp+", "unknown module \"\""},
           {"recompute=modules:mlp+mlp", "module \"mlp\" occurs twice"},
           {"recompute=modules:mpl", "known: core_attn"},
           {"recompute=moe_act+mlp", "as in recompute=modules:moe_act"},
           {"recompute=full:moe", "recompute=full takes no number"}}) {
    const auto& word = row.first;
    const auto& sentence = row.second;
    INFO(word);
    CHECK(refusal_of([&] { parse_layout("dp8 " + word, "x"); }).find(sentence) !=
          std::string::npos);
  }
  for (const auto& [word, sentence] : std::vector<std::pair<std::string, std::string>>{
           {"mla_up_proj",
            "module mla_up_proj of recompute= has no effect with attention that is not latent; "
            "leave it out"},
           {"core_attn",
            "module core_attn of recompute= has no effect with attention=flash; leave "
            "it out"},
           {"moe+shared_experts",
            "module shared_experts of recompute= has no effect with moe, "
            "which has them; leave it out"}})
    CHECK(misfit_of(model, parse_layout("dp8 ep8 recompute=modules:" + word, ""),
                    module_sequence) == sentence);
  CHECK(misfit_of(load_model("llama3.1_8b"), parse_layout("dp8 recompute=modules:moe", ""), 4096) ==
        "module moe of recompute= has no effect with dense layers alone; leave it out");
  CHECK(
      misfit_of(load_model("qwen3_30b_a3b"), parse_layout("dp8 recompute=modules:mlp", ""), 4096) ==
      "module mlp of recompute= has no effect with experts in every layer; leave it "
      "out");
  // Beside a layout each module is tried, and taken back.
  std::vector<std::string> near;
  LayoutSpace space{};
  space.gpus = space.batch = 8;
  space.sequence = module_sequence;
  for_each_near(model, space, parse_layout("dp8 ep8 recompute=modules:moe_act", ""),
                [&](const Layout& layout) { near.push_back(to_text(layout)); });
  for (const std::string text :
       {"ep8 dp8 zero0 recompute=modules:mlp+moe_act", "ep8 dp8 zero0",
        "ep8 dp8 zero0 recompute=modules:layernorm+moe_act", "ep8 dp8 zero0 recompute=full"})
    CHECK(std::find(near.begin(), near.end(), text) != near.end());
}

TEST_CASE("modules again: programs that say which") {
  const auto read = [](const std::string& text, const std::string& model) {
    return foreign_layout(FlatSettings::read(text, "f"), {.given = 16}, load_model(model));
  };
  const std::string flags =
      "--pipeline-model-parallel-size 2 --overlap-grad-reduce --recompute-granularity selective "
      "--recompute-modules ";
  const std::string start = "pp2 dp8 zero0";
  for (const auto& row : std::vector<std::tuple<std::string, std::string, std::string>>{
           {"mla_up_proj mlp", "deepseek_v3", " recompute=modules:mla_up_proj+mlp"},
           {"moe_act layernorm", "deepseek_v3", " recompute=modules:layernorm+moe_act"},
           {"moe moe_act shared_experts", "deepseek_v3", " recompute=modules:moe"},
           {"core_attn moe_act", "qwen3_30b_a3b", " recompute=modules:moe_act"},
           {"mlp", "qwen3_30b_a3b", ""},
           {"mlp moe", "llama3.1_8b", " recompute=modules:mlp"},
           {"core_attn mlp --attention-backend unfused", "llama3.1_8b",
            " recompute=modules:core_attn+mlp attention=unfused"},
           {"core_attn --attention-backend unfused", "llama3.1_8b",
            " recompute=selective attention=unfused"}}) {
    const auto& modules = std::get<0>(row);
    const auto& model = std::get<1>(row);
    const auto& words = std::get<2>(row);
    INFO(modules);
    CHECK(to_text(read(flags + modules, model).layout) == start + words);
  }
  CHECK(has_note(read(flags + "mlp", "qwen3_30b_a3b"), "selective recomputation has no effect"));
  CHECK(has_note(read(flags + "moe", "llama3.1_8b"), "the model has no such modules"));
  CHECK(has_note(read(flags + "core_attn", "llama3.1_8b"), "attention is taken to be fused"));
  // As tests of Megatron-LM write a list, and as tables of Megatron-Bridge's benchmarks have it.
  const std::string listed =
      "MODEL_ARGS:\n  --pipeline-model-parallel-size: 2\n  --recompute-granularity: selective\n"
      "  --recompute-modules: \"[layernorm mla_up_proj]\"\n";
  const ForeignLayout tested = foreign_layout(FlatSettings::read(listed, "f.yaml"), {.given = 16},
                                              load_model("deepseek_v3"));
  CHECK(to_text(tested.layout).find("modules:layernorm+mla_up_proj") != std::string::npos);
  const std::string table =
      "from dataclasses import replace\n\nBASE = WorkloadBaseConfig(\n    num_gpus=16,\n"
      "    pipeline_model_parallel_size=2,\n    pp_layout=\"Et*30|t*31L\",\n"
      "    recompute_modules=[\"mla_up_proj\", \"mlp\"],\n)\n";
  const std::string words = to_text(read(table, "deepseek_v3").layout);
  INFO(words);
  CHECK(words.find("recompute=modules:mla_up_proj+mlp") != std::string::npos);
  CHECK(words.find("stages=30+31") != std::string::npos);
  CHECK(
      has_note(read(flags + "mlp gdn", "llama3.1_8b"), "recomputation of gdn alone is not priced"));
  CHECK(to_text(read("model:\n  pipeline_model_parallel_size: 2\n  micro_batch_size: 1\n"
                     "  recompute_granularity: selective\n  recompute_modules: [moe_act, mlp]\n",
                     "deepseek_v3")
                    .layout)
            .find("recompute=modules:mlp+moe_act") != std::string::npos);
}

}  // namespace sgdsim
