// Exchanges of experts that lie under what shared experts compute: how much of them is left, in a
// layer by hand, in closed form and on wires, and how programs say so.
#include <doctest/doctest.h>

#include "models/training/expert_exchanges.h"
#include "models/training/link_load.h"
#include "models/training/step_on_wires.h"
#include "study/layout/foreign_layout.h"
#include "study/layout/layout_files.h"
#include "tests/cluster_cases.h"
#include "tests/texts.h"
#include "tests/training_cases.h"

namespace sgdsim {
namespace {

constexpr int64_t shared_sequence = 2048;
constexpr LayerKind shared_layer{.mlp = Mlp::experts};

// So many shared experts beside eight others, in every layer.
Transformer shared_mixture(int64_t shared) {
  Transformer model = small_mixture(8);
  model.experts->shared = shared;
  return model;
}

}  // namespace

// The first matrices of shared experts, h x 2w, lie under tokens on their way out, and the last
// one, w x h, under those that come back; backward each is two products, the last one first.
TEST_CASE("experts under shared ones: a layer, product by product") {
  for (const int64_t shared : {1, 4, 40})
    for (const char* bandwidth : {"2000 Gbps", "400 Gbps", "50 Gbps"})
      for (const std::string text : {"dp8 ep8", "tp2 sp dp4 ep8", "dp8 ep8 dispatch=node"}) {
        CAPTURE(shared);
        CAPTURE(bandwidth);
        CAPTURE(text);
        const Transformer model = shared_mixture(shared);
        const Layout alone = parse_layout(text, "");
        const Layout under = parse_layout(text + " experts=shared", "");
        REQUIRE(misfit_of(model, under, shared_sequence) == "");
        const Cluster cluster = one_switch(8, bandwidth);
        const Gpu gpu = undisturbed("h100");
        GroupTimes groups(cluster, 8);
        const auto times = [&](const Layout& layout) {
          return layer_times({model, layout, shared_sequence, gpu, Precision::bf16}, groups,
                             shared_layer);
        };
        const LayerTimes before = times(alone);
        const LayerTimes after = times(under);
        const double t = static_cast<double>(under.tensor);
        const double w = 512.0 * static_cast<double>(shared) / t;
        const double h = static_cast<double>(model.hidden);
        const double rows = shared_sequence;
        const auto product_s = [&](double columns, double inner, bool of_weights) {
          const double flop = 2 * rows * columns * inner;
          return of_weights
                     ? gpu.weight_product_s(flop,
                                            2 * rows * (inner + columns) + 8 * inner * columns,
                                            Precision::bf16)
                     : gpu.product_s(flop, 2 * (rows * inner + inner * columns + rows * columns),
                                     Precision::bf16);
        };
        // Both ways carry the same bytes in BF16.
        const double way_s = before.forward.expert / 2;
        const double first_s = product_s(2 * w, h, false);
        const double last_s = product_s(h, w, false);
        CHECK(after.forward.expert ==
              doctest::Approx(std::max(0.0, way_s - first_s) + std::max(0.0, way_s - last_s)));
        CHECK(after.backward.expert ==
              doctest::Approx(std::max(0.0, way_s - last_s - product_s(h, w, true)) +
                              std::max(0.0, way_s - first_s - product_s(2 * w, h, true))));
        CHECK(after.forward.expert + after.forward.hidden_expert ==
              doctest::Approx(before.forward.expert));
        CHECK(after.forward.compute() == before.forward.compute());
        CHECK(after.backward.compute() == before.backward.compute());
      }
}

// On wires computing is cut where exchanges begin and end, and messages are whole bytes.
TEST_CASE("experts under shared ones: the closed form is what is simulated") {
  const Gpu gpu = undisturbed("h100");
  double most_hidden = 0;
  for (const int64_t shared : {1, 30})
    for (const std::string text :
         {"dp8 ep8 ga4", "pp2 dp4 ep4 ga8", "pp2 vp2 dp4 ep4 ga8", "pp2 dp4 ep4 ga8 schedule=zb1p",
          "dp8 ep8 ga2 zero3", "dp8 ep8 ga4 recompute=full", "dp8 ep8 ga4 recompute=modules:moe"}) {
      CAPTURE(shared);
      CAPTURE(text);
      const Transformer model = shared_mixture(shared);
      const Layout under = parse_layout(text + " experts=shared", "");
      const Layout alone = parse_layout(text, "");
      REQUIRE(misfit_of(model, under, shared_sequence) == "");
      const Cluster cluster = one_switch(under.gpus(), "400 Gbps");
      GroupTimes groups(cluster, under.gpus());
      const TrainingStep step{model, under, shared_sequence, gpu, Precision::bf16};
      const TrainingStep other{model, alone, shared_sequence, gpu, Precision::bf16};
      const HybridStep closed = step_on_links(step, groups);
      const HybridStep before = step_on_links(other, groups);
      CHECK(closed.time <= before.time);  // zero3 waits for weights
      CHECK(closed.parts.expert + closed.hidden.expert == doctest::Approx(before.parts.expert));
      most_hidden = std::max(most_hidden, closed.hidden.expert / before.parts.expert);
      CHECK(play_step(step, groups).step.time.s() ==
            doctest::Approx(closed.time.s()).epsilon(0.03));
      const double saved = before.time.s() - closed.time.s();
      const double saved_on_wires = play_on_wires(other, cluster, groups, {}, {}).step.time.s() -
                                    play_on_wires(step, cluster, groups, {}, {}).step.time.s();
      CHECK(saved_on_wires == doctest::Approx(saved).epsilon(0.1).scale(before.time.s() / 10));
    }
  CHECK(most_hidden > 0.9);
}

TEST_CASE("experts under shared ones: the word of a layout, and programs that say so") {
  CHECK(to_text(parse_layout("dp8 ep8 ga4 experts=shared", "")) ==
        "ep8 dp8 ga4 zero0 experts=shared");
  CHECK(to_json(parse_layout("dp8 ep8 experts=shared", ""))["experts"] == "shared");
  const auto misfit = [](const Transformer& model, const std::string& text) {
    return misfit_of(model, parse_layout(text + " experts=shared", ""), shared_sequence);
  };
  CHECK(misfit(shared_mixture(1), "dp8 ep8") == "");
  CHECK(misfit(shared_mixture(1), "dp8").find("has no effect with ep1") != std::string::npos);
  CHECK(misfit(shared_mixture(0), "dp8 ep8").find("of which none is shared") != std::string::npos);
  CHECK(misfit(shared_mixture(1), "pp2 dp4 ep4 ga4 schedule=dualpipe")
            .find("no effect with dualpipe") != std::string::npos);

  const auto read = [](const std::string& text, const char* model) {
    return foreign_layout(FlatSettings::read(text, "f"), {.given = 16}, load_model(model));
  };
  const std::string flags =
      "--expert-model-parallel-size 8 --expert-tensor-parallel-size 1 --global-batch-size 64 "
      "--moe-shared-expert-overlap";
  const ForeignLayout deepseek = read(flags, "deepseek_v3");
  CHECK(deepseek.layout.experts == ExpertsUnder::shared);
  CHECK_FALSE(has_note(deepseek, "is not priced"));
  // Qwen3 has no shared experts.
  const ForeignLayout qwen = read(flags, "qwen3_30b_a3b");
  CHECK(qwen.layout.experts == ExpertsUnder::alone);
  CHECK(has_note(qwen, "moe-shared-expert-overlap is not priced"));
  CHECK(read("train:\n  micro_batch_size: 1\n  global_batch_size: 64\nmodel:\n  "
             "tensor_model_parallel_size: 1\n  moe_shared_expert_overlap: true\n"
             "  expert_model_parallel_size: 8\n",
             "deepseek_v3")
            .layout.experts == ExpertsUnder::shared);
}

}  // namespace sgdsim
