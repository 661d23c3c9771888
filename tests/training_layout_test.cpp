// Layouts: the short text, what must divide, and the memory of stages against published figures.
#include <doctest/doctest.h>

#include "models/training/memory.h"
#include "sim/core/error.h"
#include "study/layout/layout_files.h"
#include "tests/texts.h"

namespace sgdsim {
namespace {

std::string refusal_of_layout(const std::string& text) {
  return refusal_of([&] { parse_layout(text, "--layout"); });
}

TEST_CASE("layouts: the short text is read and written") {
  const Layout layout = parse_layout(
      "tp8 pp9 cp2 vp7 dp4 ga63 zero1 sp recompute=full ends=layers gradients=bf16", "");
  CHECK(layout.tensor == 8);
  CHECK(layout.pipeline == 9);
  CHECK(layout.context == 2);
  CHECK(layout.chunks == 7);
  CHECK(layout.replicas == 4);
  CHECK(layout.micro_batches == 63);
  CHECK(layout.zero == 1);
  CHECK(layout.sequence_parallel);
  CHECK(layout.gpus() == 576);
  CHECK(layout.batch() == 252);
  for (const char* text : {"zero0",
                           "tp2 pp4 ep2 dp4 mbs2 ga8 zero3 sp recompute=selective schedule=zb1p "
                           "attention=unfused ends=layers gradients=bf16",
                           "tp2 cp4 dp8 zero3 hsdp4 context=ulysses reshard=off",
                           "tp2 pp2 dp2 ga2 zero1 overlap=off sends=split accumulate=apart "
                           "kernels=eager"}) {
    CHECK(to_text(parse_layout(text, "")) == text);
    const Json json = to_json(parse_layout(text, ""));
    CHECK(read_layout(Value(json, "layout.json", "")) == parse_layout(text, ""));
  }
}

TEST_CASE("layouts: words that are none are refused") {
  const std::vector<std::pair<std::string, std::string>> rows = {
      {"", "expected a layout as"},
      {"tp", "unknown word of a layout \"tp\""},
      {"tp0", "expected a whole number from 1"},
      {"tp-8", "unknown word of a layout"},
      {"tp8x", "expected a whole number"},
      {"tp99999999999999999999", "expected a whole number"},
      {"tp8 tp8", "\"tp\" occurs twice"},
      {"sp sp", "\"sp\" occurs twice"},
      {"zero4", "expected a whole number from 0 to 3"},
      {"recompute=some", "unknown recompute \"some\""},
      {"hsdp0", "expected a whole number from 1"},
      {"context=mesh", "unknown context \"mesh\""},
      {"sends=half", "unknown sends \"half\""},
      {"tp1024 pp2048", "above 1048576 GPUs"},
      {"tensor=8", "unknown word of a layout"},
      {"fsdp8", "unknown word of a layout \"fsdp8\"; say dp8 zero3"},
      {"tp2 ddp4", "unknown word of a layout \"ddp4\"; say dp4"},
      {"fsdp", "say dpN zero3"},
      {"pp2 schedule=interleaved", "say vpN, as vp2, and leave the schedule out"},
      {"pp2 schedule=Interleaved1F1B", "virtual stages make 1f1b interleaved"},
  };
  for (const auto& row : rows) {
    INFO(row.first);
    INFO(refusal_of_layout(row.first));
    CHECK(refusal_of_layout(row.first).find(row.second) != std::string::npos);
  }
}

// Largest memory that PyTorch reserved, as published for runs of 8B whose layers were compiled;
// CUDA, NCCL and fragmentation, which take 1 to 3 GiB and more, are in it.
TEST_CASE("layouts: memory of torchtitan on 8 and 128 GPUs") {
  const Transformer model = load_model("llama3.1_8b");
  for (const auto& [replicas, published_GiB] : {std::pair(8, 77.0), std::pair(128, 62.0)}) {
    const Layout layout = parse_layout(
        "mbs2 zero3 recompute=operations kernels=compiled dp" + std::to_string(replicas), "");
    const double memory_GiB = largest_memory(model, layout, 8192).total_B() / (1LL << 30);
    CHECK(memory_GiB < published_GiB - 1);
    CHECK(memory_GiB > published_GiB - 4);
  }
}

TEST_CASE("layouts: what does not divide is a sentence") {
  struct Row {
    std::string model;
    std::string layout;
    std::string sentence;  // empty: it fits
  };
  const std::vector<Row> rows = {
      {"llama3.1_405b", "tp8 pp9 cp2 vp7 dp4 ga63 zero1 sp", ""},
      {"llama3.1_405b", "tp8 pp8 vp8 ga72 ends=layers", ""},
      {"llama3.1_405b", "tp8 pp8 vp8 ga72", "ends=layers, where embedding and loss"},
      {"llama3.1_405b", "tp16", ""},
      {"llama3.1_405b", "tp3", "the 128 heads do not divide by tp3"},
      {"llama3.1_405b", "pp128", "there are more stages than layers"},
      {"llama3.1_405b", "pp9 vp2 ga10", "does not divide by it"},
      {"llama3.1_405b", "vp2", "need pp2 or more"},
      {"llama3.1_405b", "sp", "no effect with tp1"},
      {"llama3.1_405b", "ep2", "has no experts"},
      {"llama3.1_405b", "recompute=selective", "never keeps"},
      {"llama3.1_405b", "tp2 pp2 sends=split", ""},
      {"llama3.1_405b", "tp2 pp2 sp sends=split", "with sp, which splits sends already"},
      {"llama3.1_405b", "tp2 sends=split", "no effect with pp1"},
      {"llama3.1_405b", "pp2 sends=split", "no effect with tp1"},
      {"llama3.1_405b", "dp8 zero2 accumulate=apart", "zero3 keep no whole gradients"},
      {"llama3.1_405b", "dp8 zero1 accumulate=apart", ""},
      {"llama3.1_405b", "dp8 recompute=operations kernels=compiled", ""},
      {"llama3.1_405b", "tp2 recompute=operations", "not modelled for tp or cp above 1"},
      {"mixtral_8x7b", "dp8 recompute=operations", "latent attention and experts"},
      {"mixtral_8x7b", "dp8 kernels=eager", "not modelled for latent attention and experts"},
      {"llama3.1_405b", "cp3", "positions of a sequence do not divide"},
      {"llama3.1_405b", "schedule=zb1p", "needs stages"},
      {"llama3.1_405b", "pp9 ga18 schedule=dualpipe", "even number of stages"},
      {"llama3.1_405b", "pp6 ga10 schedule=dualpipe", "at least twice"},
      {"llama3.1_405b", "cp16 context=ulysses", "the 8 heads of keys and values"},
      {"llama3.1_405b", "tp2 cp4 context=ulysses", ""},
      {"llama3.1_405b", "tp8 context=gather", "context=gather has no effect with cp1"},
      {"deepseek_v3", "cp2 context=ulysses", "not modelled for latent attention"},
      {"deepseek_v3", "cp2 context=gather", ""},
      {"llama3.1_405b", "dp8 zero1 hsdp3", "the 8 ranks cp x dp do not divide by hsdp3"},
      {"llama3.1_405b", "dp8 hsdp2", "zero0 has none"},
      {"llama3.1_405b", "dp8 zero3 hsdp8", "leaves one rank for all shards"},
      {"llama3.1_405b", "cp2 dp4 zero3 hsdp4", ""},
      {"llama3.1_405b", "dp8 zero2 reshard=off", "belongs to zero3"},
      {"mixtral_8x7b", "ep8 dp8 zero1 hsdp2", "the 1 ranks with the same experts"},
      {"mixtral_8x7b", "ep4 dp8 zero1 hsdp2", ""},
      {"llama3.1_8b", "pp2 ga4 schedule=zbv",
       "schedule=zbv has two virtual stages on a rank; say vp2"},
      {"llama3.1_8b", "pp4 vp2 ga6 schedule=zbv", "needs at least 7 micro-batches, not ga6"},
      {"llama3.1_8b", "pp4 vp2 ga7 schedule=zbv", ""},
      {"llama3.1_8b", "vp2 ga7 schedule=zbv", "schedule=zbv needs stages; give pp2 or more"},
      {"mixtral_8x7b", "ep3 dp3", "the 8 experts do not divide by ep3"},
      {"mixtral_8x7b", "ep8 dp4", "ranks tp x cp x dp do not divide"},
      {"mixtral_8x7b", "ep8 dp4 tp2", "need sp"},
      {"mixtral_8x7b", "ep8 dp4 tp2 sp", ""},
  };
  for (const Row& row : rows) {
    INFO(row.layout);
    const Transformer model = load_model(row.model);
    const std::string misfit = misfit_of(model, parse_layout(row.layout, ""), 8192);
    INFO(misfit);
    if (row.sentence.empty())
      CHECK(misfit.empty());
    else
      CHECK(misfit.find(row.sentence) != std::string::npos);
  }
}

TEST_CASE("layouts: every layer is on one stage, and dense layers come first") {
  const Transformer model = load_model("deepseek_v3");
  for (const char* text : {"pp1", "pp61", "pp3 vp7 ga3 ends=layers", "pp9 ends=layers"}) {
    INFO(text);
    const Layout layout = parse_layout(text, "");
    REQUIRE(misfit_of(model, layout, 4096).empty());
    int64_t dense = 0;
    int64_t others = 0;
    for (int64_t stage = 0; stage < layout.pipeline; ++stage) {
      const StageLayers held = layers_of_stage(model, layout, stage);
      dense += held.count({});
      others += held.count({.mlp = Mlp::experts});
      CHECK(held.embeds == (stage == 0));
      CHECK(held.has_head == (stage == layout.pipeline - 1));
    }
    CHECK(dense == 3);
    CHECK(others == 58);
  }
}

// Dimensions and figures of arXiv 2205.05198 (tables 3 and 4, figures 1 and 7), measured on A100 of
// the Selene cluster: 18 bytes a parameter, embeddings and norms not counted.
Transformer selene(int64_t h, int64_t layers, int64_t heads) {
  Transformer model;
  model.name = "selene";
  model.hidden = h;
  model.layers = layers;
  model.heads = heads;
  model.kv_heads = heads;
  model.head_size = h / heads;
  model.mlp_width = 4 * h;
  model.gated = false;
  model.vocabulary = 51200;
  model.dropout = true;
  model.sequence = 2048;
  return model;
}

TEST_CASE("layouts: activations and states of four models on Selene, to the printed digit") {
  struct Row {
    int64_t h;
    int64_t layers;
    int64_t heads;
    std::string layout;
    double whole_GiB;      // tensor parallelism only
    double selective_GiB;  // with sequence parallelism and selective recomputation
    double states_GiB;
  };
  const std::vector<Row> rows = {
      {6144, 48, 64, "tp8 mbs4 ga1 attention=unfused", 59.25, 9.56, 45.56},
      {12288, 96, 96, "tp8 pp8 vp3 ga64 attention=unfused", 66.84, 12.35, 45.56},
      {20480, 105, 128, "tp8 pp35 vp3 ga280 attention=unfused", 114.02, 23.08, 31.64},
      {25600, 128, 160, "tp8 pp64 ga512 attention=unfused", 131.25, 26.56, 32.96},
  };
  constexpr double gib = 1024.0 * 1024 * 1024;
  for (const Row& row : rows) {
    INFO(row.h);
    const Transformer model = selene(row.h, row.layers, row.heads);
    const Layout whole = parse_layout(row.layout, "");
    const Layout selective = parse_layout(row.layout + " sp recompute=selective", "");
    REQUIRE(misfit_of(model, whole, 2048).empty());
    REQUIRE(misfit_of(model, selective, 2048).empty());
    const StageMemory most = stage_memory(model, whole, 2048, 0);
    const StageMemory least = stage_memory(model, selective, 2048, 0);
    CHECK(std::abs(most.activations_B / gib - row.whole_GiB) <= 0.005);
    CHECK(std::abs(least.activations_B / gib - row.selective_GiB) <= 0.005);
    CHECK(std::abs(18 * most.parameters.matrices / gib - row.states_GiB) <= 0.005);
    const RankParameters& parameters = most.parameters;
    CHECK(most.states_B() == doctest::Approx(18 * parameters.all()).epsilon(1e-12));
  }
}

TEST_CASE("layouts: forward passes in flight, and the moment of the peak, by a drawing") {
  const Transformer model = selene(1024, 24, 16);
  struct Row {
    std::string layout;
    int64_t stage;
    int64_t in_flight;
    int64_t micro_batch;
    int64_t chunk;
  };
  const std::vector<Row> rows = {
      {"pp4 ga8", 0, 4, 3, 0},
      {"pp4 ga8", 3, 1, 0, 0},
      {"pp4 ga2", 0, 2, 1, 0},
      {"pp4 ga8 schedule=gpipe", 2, 8, 7, 0},
      // Gradients of weights stay back by one: forwards of 0, 1, 2, 3 before those of 0 are made.
      {"pp4 ga8 schedule=zb1p", 1, 4, 3, 0},
      {"pp4 ga8 schedule=dualpipe", 1, 5, 4, 0},
      // Stage 0 of 2, two chunks: forwards of micro-batches 0, 1 (chunk 0), 0, 1 (chunk 1), 2; a
      // backward pass of 0 (chunk 1), and a forward pass of 3, of the chunk that embeds.
      {"pp2 vp2 ga4", 0, 5, 3, 0},
      {"pp2 vp2 ga4", 1, 3, 0, 1},
      {"pp2 vp2 ga2", 0, 4, 1, 1},
  };
  for (const Row& row : rows) {
    INFO(row.layout);
    const Layout layout = parse_layout(row.layout, "");
    REQUIRE(misfit_of(model, layout, 1024).empty());
    const StageMemory memory = stage_memory(model, layout, 1024, row.stage);
    CHECK(memory.in_flight == row.in_flight);
    CHECK(memory.micro_batch == row.micro_batch);
    CHECK(memory.chunk == row.chunk);
  }
}

TEST_CASE("layouts: bytes of a parameter by stage of zero") {
  const Transformer model = selene(1024, 24, 16);
  const double parameters = rank_parameters(model, parse_layout("dp8", ""), 0).all();
  // Head and embedding are one, and larger than a layer: it is what is gathered whole.
  const double end = static_cast<double>(end_parameters(model).embedding);
  REQUIRE(end > 2 * rank_layer_parameters(model, parse_layout("dp8", ""), {}).all());
  const std::vector<std::pair<std::string, double>> rows = {
      {"dp8 zero0", 18 * parameters},
      {"dp8 zero1", (6 + 12.0 / 8) * parameters},
      {"dp4 cp2 zero1", (6 + 12.0 / 8) * parameters},
      {"dp8 zero2", (2 + 16.0 / 8) * parameters + 4 * end},
      {"dp8 zero3", 18.0 / 8 * parameters + (2 + 4) * end},
      {"dp8 zero1 gradients=bf16", (4 + 12.0 / 8) * parameters},
      {"dp8 zero1 hsdp2", (6 + 12.0 / 4) * parameters},
      {"dp4 cp2 zero3 hsdp4", 18.0 / 2 * parameters + (2 + 4) * end},
      {"dp8 zero3 reshard=off", (18.0 / 8 + 2) * parameters + 4 * end},
  };
  for (const auto& row : rows) {
    INFO(row.first);
    CHECK(stage_memory(model, parse_layout(row.first, ""), 1024, 0).states_B() ==
          doctest::Approx(row.second).epsilon(1e-12));
  }
}

TEST_CASE("layouts: what would save memory is computed") {
  const Transformer model = load_model("llama3.1_70b");
  const Layout layout = parse_layout("tp8 dp8 ga4 sp", "");
  const std::string text = savings_text(model, layout, 8192);
  const double now = largest_memory(model, layout, 8192).total_B();
  Layout other = layout;
  other.zero = 3;
  const double gain = now - largest_memory(model, other, 8192).total_B();
  INFO(text);
  CHECK(text.find("zero3 would save " + gib_text(gain)) == 0);
  CHECK_THROWS_AS(check_memory(model, layout, 8192, Bytes(80'000'000'000), Bytes(0), "--layout"),
                  InputError);
}

// Whoever holds what: all ranks together write every parameter once, in 2 + 4 + 4 + 4 bytes.
TEST_CASE("layouts: a save has every parameter once") {
  struct Row {
    const char* model;
    const char* layout;
  };
  const std::vector<Row> rows = {
      {"llama3.1_8b", "dp8"},
      {"llama3.1_8b", "dp8 zero1"},
      {"llama3.1_8b", "dp8 zero3"},
      {"llama3.1_8b", "cp2 dp4 zero2"},
      {"llama3.1_8b", "dp8 zero3 hsdp2"},
      {"llama3.1_8b", "pp4 dp2 ga8"},
      {"llama3.1_8b", "pp4 vp2 dp2 ga8 zero1"},
      {"llama3.1_8b", "pp4 dp2 ga8 schedule=dualpipe"},
      {"mixtral_8x7b", "dp8 ep8 zero1"},
      {"mixtral_8x7b", "pp4 dp4 ep2 ga8 zero1"},
  };
  for (const Row& row : rows) {
    INFO(row.model);
    INFO(row.layout);
    const Transformer model = load_model(row.model);
    const Layout layout = parse_layout(row.layout, "");
    REQUIRE(misfit_of(model, layout, 8192).empty());
    double all_B = 0;
    for (int64_t stage = 0; stage < layout.pipeline; ++stage)
      all_B += saved_B(model, layout, stage) * static_cast<double>(layout.gpus()) /
               static_cast<double>(layout.pipeline);
    CHECK(all_B == doctest::Approx(14 * static_cast<double>(parameters_of(model).total)));
  }
}

}  // namespace
}  // namespace sgdsim
