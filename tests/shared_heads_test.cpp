// More tensor-parallel ranks than heads of keys and values: each has one, and several the same.
#include <algorithm>
#include <doctest/doctest.h>

#include "models/training/hybrid_step.h"
#include "models/training/layer_matrices.h"
#include "models/training/layout_search.h"
#include "models/training/memory.h"
#include "models/training/step_on_wires.h"
#include "models/training/training_program.h"
#include "tests/cluster_cases.h"
#include "tests/run_program.h"
#include "tests/training_cases.h"

namespace sgdsim {
namespace {

// 16 heads of queries, and so many of keys and values.
Transformer model_with(int64_t kv_heads) {
  Transformer model = small_model();
  model.kv_heads = kv_heads;
  return model;
}

// Of a layer of 16 heads of 64 and one of keys and values: a rank of eight has two heads of
// queries, the one of keys and of values, and the rows of what comes out.
TEST_CASE("shared heads: what a rank holds, by hand") {
  const Transformer model = model_with(1);
  const double mlp = 3.0 * 1024 * 4096;
  const auto matrices = [&](const char* words) {
    return rank_layer_parameters(model, parse_layout(words, ""), {}).matrices;
  };
  CHECK(matrices("tp1") == 1024.0 * (1024 + 2 * 64 + 1024) + mlp);
  CHECK(matrices("tp8") == 1024.0 * (128 + 2 * 64 + 128) + mlp / 8);
  CHECK(matrices("tp16") == 1024.0 * (64 + 2 * 64 + 64) + mlp / 16);
  // Products are of these matrices.
  double made = 0;
  const RankMatrices all(model, parse_layout("tp8", ""), {});
  for (const RankMatrix& matrix : all) made += matrix.columns * matrix.inner;
  CHECK(made == matrices("tp8"));
  // Keys and values that go around a ring: two of 64, of half of 2,048 tokens, of 2 bytes.
  const TrainingStep step{model, parse_layout("tp8 cp2", ""), 2048, undisturbed("h100"),
                          Precision::bf16};
  CHECK(keys_and_values_B(step, {}) == 2.0 * 2 * 64 * 1024);
}

// A rank has a head of its own or one that others have, too: it does the same with it.
TEST_CASE("shared heads: memory and steps are those of a head for each rank") {
  for (const std::string words :
       {"tp8 dp2 zero1 sp", "tp8 pp2 ga4", "tp8 cp2 dp2 zero3 sp", "tp8 recompute=full",
        "tp8 dp2 attention=unfused", "tp8 kernels=eager", "tp8 lora=16"}) {
    CAPTURE(words);
    const Layout layout = parse_layout(words, "");
    const Cluster cluster = one_switch(layout.gpus());
    GroupTimes groups(cluster, layout.gpus());
    const Gpu gpu = undisturbed("h100");
    const auto asked = [&](const Transformer& model) {
      return TrainingStep{model, layout, 2048, gpu, Precision::bf16};
    };
    const Transformer own = model_with(8);
    for (const int64_t heads : {1, 2, 4}) {
      CAPTURE(heads);
      const Transformer shared = model_with(heads);
      REQUIRE(misfit_of(shared, layout, 2048).empty());
      CHECK(largest_memory(shared, layout, 2048).total_B() ==
            doctest::Approx(largest_memory(own, layout, 2048).total_B()));
      CHECK(hybrid_step(asked(shared), groups).time == hybrid_step(asked(own), groups).time);
      CHECK(play_on_wires(asked(shared), cluster, groups, {}, {}).step.time ==
            play_on_wires(asked(own), cluster, groups, {}, {}).step.time);
    }
  }
}

TEST_CASE("shared heads: which numbers of ranks fit") {
  Transformer model = model_with(8);
  model.heads = 96;
  model.mlp_width = 96 * 64;
  const auto misfit = [&](const char* words) {
    return misfit_of(model, parse_layout(words, ""), 9216);
  };
  for (const char* words : {"tp2", "tp4", "tp8", "tp16", "tp24", "tp32", "tp48", "tp96"}) {
    CAPTURE(words);
    CHECK(misfit(words).empty());
  }
  CHECK(misfit("tp12") ==
        "the 8 heads of keys and values do not divide by tp12, nor tp12 by them; the next smaller "
        "number that fits is 8");
  // All positions of some heads: of keys and values, too.
  CHECK(misfit("tp4 cp4 context=ulysses").find("the 8 heads of keys and values") == 0);
}

TEST_CASE("shared heads: no published step has them") {
  const auto beyond = [](int64_t kv_heads, const char* words) {
    return beyond_published(model_with(kv_heads), parse_layout(words, ""), 2048);
  };
  CHECK(beyond(8, "tp8 sp").empty());
  REQUIRE(beyond(4, "tp8 sp").size() == 1);
  CHECK(beyond(4, "tp8 sp")[0] == "tp8 for fewer heads of keys and values (compared: none)");
}

TEST_CASE("shared heads: searches try them") {
  const Transformer model = model_with(2);
  LayoutSpace space;
  space.gpus = 16;
  space.batch = 16;
  space.sequence = 2048;
  int64_t most = 0;
  for_each_layout(model, space,
                  [&](const Layout& layout) { most = std::max(most, layout.tensor); });
  CHECK(most == 16);
}

TEST_CASE("sgdsim layout: models with one head of keys and values are split") {
  const Temporary config(Temporary::Kind::file,
                         R"({"model_type": "gpt_bigcode", "n_embd": 6144, "n_layer": 40,
                             "n_head": 48, "n_positions": 8192, "n_inner": 24576,
                             "vocab_size": 49152, "multi_query": true,
                             "activation_function": "gelu_pytorch_tanh"})");
  const Ran ran = call_sgdsim({"layout", config.name(), "-c", "dgx_h100_4", "--layout",
                               "tp8 dp4 zero1 sp", "--format", "json"});
  INFO(ran.log);
  CHECK(ran.exit_code == 0);
  const Ran experts = call_sgdsim({"layout", "qwen3_30b_a3b", "-c", "dgx_h100_4", "--gpus", "8",
                                   "--layout", "tp8 ep8 zero1 sp"});
  INFO(experts.log);
  CHECK(experts.exit_code != 2);
}

}  // namespace
}  // namespace sgdsim
