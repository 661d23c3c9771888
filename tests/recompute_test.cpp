// What backward passes compute again, in part: time, memory and bytes by the formulas, by hand.
#include <doctest/doctest.h>

#include "models/training/memory.h"
#include "models/training/played_step.h"
#include "models/training/stage_costs.h"
#include "models/training/step_on_wires.h"
#include "sim/core/error.h"
#include "study/layout/layout_files.h"
#include "tests/training_cases.h"

namespace sgdsim {
namespace {

constexpr int64_t tokens = 2048;  // of a sequence

Cluster rack(int64_t gpus) {
  return read_cluster(
             Document::parse(R"({"schema": "sgdsim/cluster/1", "name": "rack",
      "shape": "single_switch", "nodes": )" +
                                 std::to_string(gpus) +
                                 R"(, "nic": {"latency": "1 us", "bandwidth": "100 Gbps"}})",
                             "test.json")
                 .root())
      .cluster;
}

// The same layout with another word, in closed form, played by passes, and on wires.
struct Times {
  HybridStep closed;
  Duration played;
  StepOnWires on_wires;
};
Times times_of(const std::string& text) {
  Transformer model = small_model();
  model.kv_heads = model.heads;
  const Gpu gpu = undisturbed("h100");
  const Layout layout = parse_layout(text, "");
  REQUIRE(misfit_of(model, layout, tokens) == "");
  const Cluster cluster = rack(layout.gpus());
  GroupTimes groups(cluster, layout.gpus());
  const TrainingStep step{model, layout, tokens, gpu, Precision::bf16};
  return {hybrid_step(step, groups), play_step(step, groups).step.time,
          play_on_wires(step, cluster, groups, {})};
}

// Of one layer and micro-batch.
LayerTimes layer_of(const std::string& text) {
  Transformer model = small_model();
  model.kv_heads = model.heads;
  const Gpu gpu = load_gpu("h100");
  const Layout layout = parse_layout(text, "");
  const Cluster cluster = rack(layout.gpus());
  GroupTimes groups(cluster, layout.gpus());
  return layer_times({model, layout, tokens, gpu, Precision::bf16}, groups, {});
}

}  // namespace

// Each layer that is computed again is one more forward pass of it in every micro-batch.
TEST_CASE("recomputation: some layers take as many more forward passes") {
  struct Row {
    std::string layout;
    std::string word;
    int again;  // layers of the GPU that ends last, in all micro-batches
  };
  for (const Row& row : std::vector<Row>{{"tp2 ga3", "block:5", 3 * 5},
                                         {"tp2 ga3", "uniform:5", 3 * 48},
                                         {"tp2 ga3", "full", 3 * 48},
                                         {"tp1 ga2", "block:48", 2 * 48},
                                         {"dp2 zero1 overlap=off", "block:7", 7}}) {
    INFO(row.layout, " ", row.word);
    const LayerTimes layer = layer_of(row.layout);
    const Times without = times_of(row.layout);
    const Times with = times_of(row.layout + " recompute=" + row.word);
    const double more_s = row.again * layer.forward.all();
    CHECK(with.closed.time.s() - without.closed.time.s() == doctest::Approx(more_s).epsilon(1e-6));
    CHECK((with.played - without.played).s() == doctest::Approx(more_s).epsilon(1e-6));
    CHECK((with.on_wires.step.time - without.on_wires.step.time).s() ==
          doctest::Approx(more_s).epsilon(1e-5));
    CHECK(with.closed.parts.products - without.closed.parts.products ==
          doctest::Approx(row.again * layer.forward.products).epsilon(1e-9));
  }
}

// Two virtual stages on each of two ranks, 12 layers each: 5 of each chunk, so that a rank computes
// 10 layers of its 24 again.
TEST_CASE("recomputation: of each chunk") {
  const Layout layout = parse_layout("pp2 vp2 ga4 recompute=block:5", "");
  const StageLayers held = layers_of_stage(small_model(), layout, 1);
  CHECK(held.layers() == 24);
  CHECK(held.count_again({}) == 10);
  CHECK(held.kept_inputs == 10);
  const Times without = times_of("pp2 vp2 ga4");
  const Times with = times_of("pp2 vp2 ga4 recompute=block:5");
  CHECK(with.closed.parts.products - without.closed.parts.products ==
        doctest::Approx(4 * 10 * layer_of("pp2 vp2 ga4").forward.products).epsilon(1e-9));
  // Of units of five, the last one has two layers.
  CHECK(layers_of_stage(small_model(), parse_layout("pp2 vp2 ga4 recompute=uniform:5", ""), 0)
            .kept_inputs == 2 * 3);
  // Three dense layers stand first.
  Transformer model = small_model();
  model.experts = Experts{.count = 8, .per_token = 2, .width = 512};
  model.experts->first_dense = 3;
  for (const auto& [count, dense, others] :
       std::vector<std::tuple<int, int, int>>{{2, 2, 0}, {3, 3, 0}, {5, 3, 2}}) {
    const StageLayers first = layers_of_chunk(
        model, parse_layout("pp4 ga4 recompute=block:" + std::to_string(count), ""), 0);
    CHECK(first.count_again({}) == dense);
    CHECK(first.count_again({.mlp = Mlp::experts}) == others);
    CHECK(layers_of_chunk(model, parse_layout("pp4 ga4 recompute=block:5", ""), 1)
              .count_again({.mlp = Mlp::experts}) == 5);
  }
}

// A layer keeps T (8h + 2 (q + k + v + o) + 2 x 3 f) bytes, and its input 2 T h.
TEST_CASE("recomputation: memory by hand") {
  const Transformer model = small_model();
  const double whole_B = 2048.0 * (8 * 1024 + 2 * (1024 + 256 + 256 + 1024) + 6 * 4096);
  const double input_B = 2048.0 * 2 * 1024;
  struct Row {
    const char* layout;
    double kept_B;
    double again_B;
  };
  for (const Row& row : std::vector<Row>{
           {"ga2", 48 * whole_B, 0},
           {"ga2 recompute=full", 48 * input_B, whole_B - input_B},
           {"ga2 recompute=block:5", 43 * whole_B + 5 * input_B, whole_B - input_B},
           {"ga2 recompute=block:48", 48 * input_B, whole_B - input_B},
           {"ga2 recompute=uniform:1", 48 * input_B, whole_B - input_B},
           {"ga2 recompute=uniform:5", 10 * input_B, 5 * whole_B - input_B},
           {"ga2 recompute=uniform:48", input_B, 48 * whole_B - input_B},
           // 12 layers, four micro-batches in flight.
           {"pp4 ga8 recompute=block:5", 4 * (7 * whole_B + 5 * input_B), whole_B - input_B},
           // In flight of two chunks of 12: 2 + (2 - 1) x 2 + 1.
           {"pp2 vp2 ga4 recompute=block:5", 5 * (7 * whole_B + 5 * input_B), whole_B - input_B},
           {"pp2 vp2 ga4 recompute=uniform:5", 5 * (3 * input_B), 5 * whole_B - input_B}}) {
    CAPTURE(row.layout);
    const StageMemory memory = stage_memory(model, parse_layout(row.layout, ""), tokens, 0);
    CHECK(memory.activations_B == doctest::Approx(row.kept_B).epsilon(1e-12));
    CHECK(memory.recomputed_B == doctest::Approx(row.again_B).epsilon(1e-12));
  }
}

TEST_CASE("recomputation: words, and what is refused") {
  for (const char* word : {"recompute=block:3", "recompute=uniform:12"}) {
    const Layout layout = parse_layout(word, "");
    CHECK(to_text(layout) == "zero0 " + std::string(word));
    const Json json = to_json(layout);
    CHECK(read_layout(Value(json, "test.json", "")) == layout);
  }
  struct Row {
    const char* text;
    const char* sentence;
  };
  for (const Row& row : std::vector<Row>{
           {"recompute=block", "recompute=block needs a number of layers, as in block:4"},
           {"recompute=full:2", "recompute=full takes no number"},
           {"recompute=none:", "recompute=none takes no number"},
           {"recompute=block:0", "expected a whole number from 1 to"},
           {"recompute=uniform:", "expected a whole number from 1 to"},
           {"recompute=block:2x", "expected a whole number from 1 to"},
           {"recompute=block:99999999999999999999", "expected a whole number from 1 to"},
           {"recompute=some:2", "unknown recompute \"some\""}})
    CHECK_THROWS_WITH_AS(parse_layout(row.text, "here"), doctest::Contains(row.sentence),
                         InputError);
  const std::string misfit =
      misfit_of(small_model(), parse_layout("pp4 ga4 recompute=block:13", ""), tokens);
  CHECK(misfit ==
        "recompute=block:13 is more than the 12 layers of a chunk; recompute=full "
        "computes all of them");
}

}  // namespace sgdsim
