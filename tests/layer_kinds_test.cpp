// Layers of several kinds in one model: what they cost, on which stage they are, what they keep,
// and the closed form against the player.
#include <doctest/doctest.h>
#include <numeric>

#include "models/training/hybrid_step.h"
#include "models/training/memory.h"
#include "models/training/played_step.h"
#include "models/training/transformer_file.h"
#include "sim/core/cast.h"
#include "sim/core/error.h"
#include "study/layout/layout_files.h"
#include "tests/texts.h"
#include "tests/training_cases.h"

namespace sgdsim {
namespace {

constexpr LayerKind window_layer{.mixing = Mixing::window};
constexpr LayerKind linear_layer{.mixing = Mixing::linear};

// Of 48 layers every fourth has full attention.
Transformer with_windows(int64_t size) {
  Transformer model = small_model();
  model.window = Window{.size = size};
  model.mixing_pattern = {Mixing::window, Mixing::window, Mixing::window, Mixing::full};
  return model;
}

Transformer with_delta() {
  Transformer model = small_model();
  model.linear = LinearMixing{.kind = LinearKind::delta,
                              .key_heads = 8,
                              .key_size = 32,
                              .value_heads = 16,
                              .value_size = 64,
                              .kernel = 4,
                              .chunk = 64};
  model.mixing_pattern = {Mixing::linear, Mixing::linear, Mixing::linear, Mixing::full};
  return model;
}

double halved(const Transformer& model, Mixing mixing, int64_t s) {
  return attention_core_flop(model, mixing, s, FlopConvention::halved);
}

// Positions i of a sequence attend to min(i, w) others; as an area, s w - w^2 / 2. Each pair is two
// products of 1,024 values: those of the scores, and those of what is attended.
TEST_CASE("layers of kinds: a window costs the area of its scores") {
  for (const int64_t w : {1, 100, 1000, 2048, 5000}) {
    const Transformer model = with_windows(w);
    const double s = 2048;
    const double size = std::min(s, real(w));
    CHECK(halved(model, Mixing::window, 2048) ==
          doctest::Approx(2 * (s * size - size * size / 2) * 2 * 1024));
    CHECK(attention_core_flop(model, Mixing::window, 2048, FlopConvention::whole) ==
          2 * halved(model, Mixing::window, 2048));
  }
  // As wide as the sequence, a window is none.
  CHECK(halved(with_windows(2048), Mixing::window, 2048) ==
        halved(small_model(), Mixing::full, 2048));
  // Blocks of 512 of 1,300 positions: two whole ones and one of 276.
  Transformer blocks = with_windows(512);
  blocks.window->in_blocks = true;
  CHECK(halved(blocks, Mixing::window, 1300) ==
        doctest::Approx((2 * 512.0 * 512 + 276.0 * 276) * 2 * 1024));
  // Heads of their own: 4 of 32 in the window.
  blocks.window->heads = 4;
  blocks.window->kv_heads = 2;
  blocks.window->head_size = 32;
  CHECK(halved(blocks, Mixing::window, 512) == doctest::Approx(512.0 * 512 * 2 * 128));
  CHECK(attention_widths(blocks, Mixing::window).keys == 64);
  CHECK(attention_widths(blocks, Mixing::full).keys == 256);
}

TEST_CASE("layers of kinds: sparse attention costs its positions, and an indexer that sees all") {
  Transformer model = small_model();
  model.indexer = Indexer{.heads = 8, .size = 16, .top = 256};
  const double s = 2048;
  CHECK(halved(model, Mixing::full, 2048) ==
        doctest::Approx(2 * (s * 256 - 256.0 * 256 / 2) * 2 * 1024 + s * s * 8 * 16));
}

// Of a position, forward, causal: half a chunk of 64 for scores of keys among themselves and with
// queries, for keys and values solved for, and for values; a state of 32 x 1,024 used thrice.
TEST_CASE("layers of kinds: linear attention grows with the sequence, not its square") {
  const Transformer model = with_delta();
  const double of_position = 2 * 32.0 * (3 * 16 * 32 + 2 * 1024) + 6.0 * 32 * 1024;
  CHECK(halved(model, Mixing::linear, 2048) == doctest::Approx(2048 * of_position));
  CHECK(halved(model, Mixing::linear, 1 << 20) == doctest::Approx((1 << 20) * of_position));
  Transformer other = model;
  other.linear->kind = LinearKind::mamba2;
  CHECK(halved(other, Mixing::linear, 1) ==
        doctest::Approx(2 * 32.0 * (8 * 32 + 1024) + 4.0 * 32 * 1024));
  other.linear->kind = LinearKind::mamba;
  CHECK(halved(other, Mixing::linear, 1) == doctest::Approx(9.0 * 32 * 1024));
  // All of a model: 36 such layers and 12 of attention.
  const double core =
      36 * halved(model, Mixing::linear, 2048) + 12 * halved(model, Mixing::full, 2048);
  const double mixer = 1024 * (2 * 256 + 2 * 1024 + 32) + (1024 + 512) * 4 + 1024 * 1024;
  const double attention = 1024 * (2 * 1024 + 2 * 256);
  const double matrices = 36 * mixer + 12 * attention + 48 * 3.0 * 1024 * 4096 + 32000.0 * 1024;
  CHECK(sequence_flop(model, 2048, FlopConvention::halved) ==
        doctest::Approx(3 * (2 * 2048 * matrices + core)).epsilon(1e-12));
}

TEST_CASE("layers of kinds: every stage has those that it holds, the first of them again") {
  Transformer model = with_windows(256);
  model.experts = Experts{.count = 4, .per_token = 2, .width = 512, .first_dense = 3};
  model.mlp_pattern = {Mlp::dense, Mlp::experts};
  for (const char* text : {"pp1 recompute=block:7", "pp4 ga4 recompute=block:5", "pp2 vp3 ga4",
                           "pp2 vp2 ga4 recompute=full", "pp5 ends=layers"}) {
    INFO(text);
    const Layout layout = parse_layout(text, "");
    REQUIRE(misfit_of(model, layout, 2048).empty());
    OfKinds<int64_t> all{};
    for (int64_t chunk = 0; chunk < layout.chunks_in_all(); ++chunk) {
      const ChunkLayers layers = chunk_layers(model, layout, chunk);
      const StageLayers held = layers_of_chunk(model, layout, chunk);
      OfKinds<int64_t> kinds{};
      OfKinds<int64_t> again{};
      for (int64_t i = layers.from; i < layers.to; ++i) {
        const bool is_full = i % 4 == 3;
        const bool has_experts = i % 2 == 1 && i >= 3;
        const LayerKind kind{is_full ? Mixing::full : Mixing::window,
                             has_experts ? Mlp::experts : Mlp::dense};
        ++kinds[kind.index()];
        ++all[kind.index()];
        if (i < layers.again) ++again[kind.index()];
      }
      CHECK(held.kinds == kinds);
      CHECK(held.again == again);
    }
    CHECK(all == model.kinds());
    CHECK(std::accumulate(all.begin(), all.end(), int64_t{0}) == 48);
  }
}

// A layer of windows keeps what one of attention keeps; a linear one, of a token, the columns that
// its matrices make, what passes the convolution, and its output before and behind its norm.
TEST_CASE("layers of kinds: memory by hand") {
  const Layout layout;
  const double tokens = 2048;
  const Transformer model = with_delta();
  const double mixer = 2 * 256 + 2 * 1024 + 32 + (1024 + 512) + 2 * 1024;
  CHECK(layer_activations_B(model, layout, 2048, linear_layer) ==
        doctest::Approx(tokens * (8 * 1024 + 2 * mixer + 2 * 3 * 4096)));
  const Transformer windows = with_windows(256);
  CHECK(layer_activations_B(windows, layout, 2048, window_layer) ==
        layer_activations_B(windows, layout, 2048, {}));
  // Nothing but a mixer: one norm, its input and the mixer's.
  CHECK(layer_activations_B(model, layout, 2048, {.mixing = Mixing::linear, .mlp = Mlp::none}) ==
        doctest::Approx(tokens * (4 * 1024 + 2 * mixer)));
  // Attention and MLP from one norm.
  Transformer parallel = small_model();
  parallel.parallel = true;
  parallel.layer_norms = 1;
  CHECK(layer_activations_B(parallel, layout, 2048, {}) ==
        doctest::Approx(tokens * (4 * 1024 + 2 * 2560 + 2 * 3 * 4096)));
  // Scores of attention that is not fused are kept where layers attend.
  const Layout unfused = parse_layout("attention=unfused", "");
  CHECK(layer_activations_B(model, unfused, 2048, linear_layer) ==
        layer_activations_B(model, layout, 2048, linear_layer));
}

TEST_CASE("layers of kinds: attention of a window takes its part of the time") {
  const Gpu gpu = load_gpu("h100");
  const Cluster cluster = free_cluster(2);
  GroupTimes groups(cluster, 2);
  const Transformer model = with_windows(256);
  const Layout layout = parse_layout("tp2", "");
  const TrainingStep step{model, layout, 8192, gpu, Precision::bf16};
  const LayerTimes full = layer_times(step, groups, {});
  const LayerTimes window = layer_times(step, groups, window_layer);
  const double part = 2 * (8192.0 * 256 - 256.0 * 256 / 2) / (8192.0 * 8192);
  CHECK(window.forward.attention == doctest::Approx(part * full.forward.attention));
  CHECK(window.backward.attention == doctest::Approx(part * full.backward.attention));
  CHECK(window.forward.products == full.forward.products);
  // Side by side: one exchange in place of two.
  Transformer parallel = small_model();
  parallel.parallel = true;
  CHECK(tensor_pairs({parallel, layout, 8192, gpu, Precision::bf16}, {}) == 1);
  CHECK(tensor_pairs(step, {}) == 2);
  CHECK(tensor_pairs(step, {.mlp = Mlp::none}) == 1);
}

// One stage, no links that cost: both add up the same layers.
TEST_CASE("layers of kinds: the player takes the time of the closed form") {
  const Gpu gpu = load_gpu("h100");
  const Cluster cluster = free_cluster(8);
  Transformer single = with_delta();
  single.mixing_pattern = {Mixing::linear, Mixing::none, Mixing::full, Mixing::none};
  single.mlp_pattern = {Mlp::none, Mlp::dense};
  Transformer parallel = small_model();
  parallel.parallel = true;
  for (const Transformer& model : {with_windows(256), with_delta(), single, parallel})
    for (const char* text : {"mbs1", "mbs2 ga3", "tp2 sp", "dp8 zero1", "recompute=block:7"}) {
      INFO(text);
      const Layout layout = parse_layout(text, "");
      REQUIRE(misfit_of(model, layout, 2048).empty());
      GroupTimes groups(cluster, layout.gpus());
      const TrainingStep step{model, layout, 2048, gpu, Precision::bf16};
      CHECK(play_step(step, groups).step.time.s() ==
            doctest::Approx(hybrid_step(step, groups).time.s()).epsilon(1e-6));
    }
}

TEST_CASE("layers of kinds: what cannot be laid out so") {
  struct Row {
    Transformer model;
    const char* layout;
    const char* sentence;
  };
  Transformer sparse = small_model();
  sparse.indexer = Indexer{.heads = 8, .size = 16, .top = 256};
  Transformer grouped = with_delta();
  grouped.linear->key_heads = 2;
  for (const Row& row : std::vector<Row>{
           {with_windows(256), "cp2", "context=ring is not modelled for windows"},
           {with_windows(256), "cp2 context=gather", ""},
           {with_windows(256), "cp2 context=ulysses", ""},
           {with_windows(256), "tp2 kernels=eager", ""},
           {with_delta(), "cp2 context=gather", "cp2 is not modelled for linear layers"},
           {with_delta(), "kernels=eager", "kernels=eager is not modelled"},
           {with_delta(), "recompute=operations", "recompute=operations is not modelled for"},
           {grouped, "tp4", "heads of keys of linear layers"},
           {sparse, "cp2", "cp2 is not modelled for sparse attention"},
           {sparse, "attention=unfused", "attention=unfused is not modelled"}}) {
    const std::string misfit = misfit_of(row.model, parse_layout(row.layout, ""), 2048);
    INFO(row.layout);
    INFO(misfit);
    CHECK(misfit.empty() == std::string(row.sentence).empty());
    CHECK(misfit.find(row.sentence) != std::string::npos);
  }
}

TEST_CASE("layers of kinds: files whose parts do not fit") {
  const auto refusal = [](const std::string& rest) {
    return refusal_of([&] {
      const std::string text = R"({"schema": "sgdsim/model/1", "hidden": 8, "layers": 4, "heads": 2,
        "mlp": {"width": 16}, "vocabulary": 10, )" +
                               rest + "}";
      read_transformer(Document::parse(text, "model.json").root());
    });
  };
  const std::string linear =
      R"("linear": {"kind": "delta", "key_size": 2, "value_heads": 2, "value_size": 2})";
  for (const auto& row : std::vector<std::pair<std::string, std::string>>{
           {R"("pattern": {"attention": ["window"]})", "give \"window\""},
           {R"("window": {"size": 4})", "no layer of the pattern has the window"},
           {R"("pattern": {"attention": ["linear"]})", "give \"linear\""},
           {linear, "no layer of the pattern is linear"},
           {R"("pattern": {"mlp": ["experts"]})", "give \"experts\""},
           {R"("pattern": {"attention": []})", "expected 1 to 10000 kinds"},
           {R"("pattern": {"attention": ["ful"]})", "did you mean \"full\""},
           {R"("pattern": {"attention": ["none"], "mlp": ["none"]})",
            "neither attention nor an MLP"},
           {R"("pattern": {"mlp": ["none", "dense"]}, "parallel": true)", "side by side"},
           {R"("layer_norms": 9)", "/layer_norms"},
           {R"("layer_norms": 3, "pattern": {"attention": ["full", "none"]})",
            "expected an even number of norms"},
           {R"("layer_norms": 1)", "side by side"},
           {R"("causal": false, "window": {"size": 4}, "pattern": {"attention": ["window"]})",
            "where attention is causal"},
           {R"("window": {"size": 0}, "pattern": {"attention": ["window"]})", "/window/size"},
           {R"("window": {"size": 4, "heads": 3, "kv_heads": 2}, "pattern": {"attention":
             ["window"]})",
            "the 3 heads do not divide among 2"},
           {R"("experts": {"count": 2, "per_token": 1, "width": 4}, "pattern": {"mlp": ["dense"]})",
            "no layer of the pattern has the experts"}}) {
    INFO(row.first);
    INFO(refusal(row.first));
    CHECK(refusal(row.first).find(row.second) != std::string::npos);
  }
}

}  // namespace
}  // namespace sgdsim
