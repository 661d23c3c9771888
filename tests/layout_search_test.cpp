// The search against loops that try everything, and the command with what it refuses.
#include "models/training/layout_search.h"

#include <algorithm>
#include <doctest/doctest.h>
#include <set>

#include "models/training/memory.h"
#include "study/layout/layout_files.h"
#include "tests/run_program.h"

namespace sgdsim {
namespace {

const std::string dgx = "topologies/data/dgx_h100_4.json";

Transformer tiny(bool has_experts, int64_t layers = 6) {
  Transformer model;
  model.name = "tiny";
  model.hidden = 256;
  model.layers = layers;
  model.heads = 4;
  model.kv_heads = 2;
  model.head_size = 64;
  model.mlp_width = 512;
  model.vocabulary = 1000;
  if (has_experts) model.experts = Experts{.count = 4, .per_token = 2, .width = 128};
  return model;
}

// Every layout of sizes up to the number of GPUs, without a thought.
std::set<std::string> by_brute_force(const Transformer& model, const LayoutSpace& space) {
  std::set<std::string> all;
  const int64_t n = space.gpus;
  Layout layout;
  auto try_rest = [&] {
    for (layout.micro_batch = 1; layout.micro_batch <= 64; layout.micro_batch *= 2) {
      if (space.batch % (layout.replicas * layout.micro_batch) != 0) continue;
      layout.micro_batches = space.batch / layout.replicas / layout.micro_batch;
      for (const bool sp : {false, true})
        for (const char* stages : {"even", "ends", "spread"})
          for (layout.zero = 0; layout.zero < 4; ++layout.zero)
            for (const Recompute recompute :
                 {Recompute::none, Recompute::selective, Recompute::full}) {
              layout.sequence_parallel = sp;
              layout.ends_are_layers = stages == std::string("ends");
              layout.stages.is_spread = stages == std::string("spread");
              layout.recompute = recompute;
              const bool divides = model.layers % layout.pipeline == 0;
              const bool ends_divide = (model.layers + 2) % layout.pipeline == 0;
              if (layout.ends_are_layers && divides) continue;
              if (layout.stages.is_spread &&
                  (divides || ends_divide || (layout.chunks & (layout.chunks - 1)) != 0))
                continue;
              if (misfit_of(model, layout, space.sequence).empty()) all.insert(to_text(layout));
            }
    }
  };
  for (layout.tensor = 1; layout.tensor <= n; ++layout.tensor)
    for (layout.pipeline = 1; layout.pipeline <= n; ++layout.pipeline)
      for (layout.context = 1; layout.context <= n; ++layout.context)
        for (layout.replicas = 1; layout.replicas <= n; ++layout.replicas) {
          if (layout.gpus() != n) continue;
          for (layout.chunks = 1; layout.chunks <= 8; ++layout.chunks)
            for (layout.expert = 1; layout.expert <= 4; ++layout.expert) try_rest();
        }
  return all;
}

TEST_CASE("layout search: it finds what loops over everything find, fastest first") {
  const Gpu gpu = load_gpu("h100");
  for (const auto& [has_experts, layers] :
       {std::pair(false, 6), std::pair(true, 6), std::pair(false, 7), std::pair(true, 11)})
    for (const int64_t gpus : {1, 4, 6, 8, 12}) {
      INFO(gpus);
      const Transformer model = tiny(has_experts, layers);
      const LayoutSpace space{.gpus = gpus,
                              .batch = 24,
                              .sequence = 512,
                              .memory = Bytes(1'000'000'000'000),
                              .reserve = {}};
      const Cluster cluster = load_cluster(SGDSIM_SOURCE_DIR "/" + dgx, gpus).cluster;
      const LayoutSearch found = search_layouts(model, gpu, Precision::bf16, cluster, space);
      std::set<std::string> texts;
      for (const FoundLayout& one : found.fitting) texts.insert(to_text(one.layout));
      CHECK(texts.size() == found.fitting.size());
      CHECK(texts == by_brute_force(model, space));
      CHECK(static_cast<int64_t>(found.fitting.size()) == found.candidates);
      CHECK(std::is_sorted(found.fitting.begin(), found.fitting.end(),
                           [](const auto& a, const auto& b) { return a.time < b.time; }));
    }
}

TEST_CASE("layout search: what does not fit is not answered") {
  const Gpu gpu = load_gpu("h100");
  const Transformer model = tiny(false);
  LayoutSpace space{
      .gpus = 8, .batch = 24, .sequence = 512, .memory = Bytes(1'000'000'000'000), .reserve = {}};
  const Cluster cluster = load_cluster(SGDSIM_SOURCE_DIR "/" + dgx, 8).cluster;
  const LayoutSearch all = search_layouts(model, gpu, Precision::bf16, cluster, space);
  space.memory = Bytes(20'000'000);
  const LayoutSearch some = search_layouts(model, gpu, Precision::bf16, cluster, space);
  CHECK(some.candidates == all.candidates);
  std::size_t fitting = 0;
  for (const FoundLayout& one : all.fitting) fitting += one.memory_B <= 20e6 ? 1U : 0U;
  CHECK(fitting > 0);
  CHECK(fitting < all.fitting.size());
  CHECK(some.fitting.size() == fitting);
  for (const FoundLayout& one : some.fitting)
    CHECK(largest_memory(model, one.layout, 512).total_B() <= 20e6);
}

TEST_CASE("sgdsim layout: the best layout is priced the same by itself") {
  const std::vector<std::string> words = {"layout",         "llama3.1_8b", "-c",       dgx,
                                          "--global-batch", "64",          "--format", "json"};
  const Ran ran = run_sgdsim(words);
  REQUIRE(ran.exit_code == 0);
  const Json json = Json::parse(ran.out);
  CHECK(json["layouts"].size() > 5);
  CHECK(json["layouts"].size() <= 11);
  CHECK(json["candidates"].get<int64_t>() > json["fitting"].get<int64_t>());
  for (const Json& one : json["layouts"]) {
    const Ran alone = run_sgdsim({"layout", "llama3.1_8b", "-c", dgx, "--layout",
                                  one["layout"].get<std::string>(), "--format", "json"});
    REQUIRE(alone.exit_code == 0);
    CHECK(Json::parse(alone.out)["layouts"][0] == one);
    double parts = 0;
    for (const auto& [name, part] : one["parts"].items()) parts += part.get<double>();
    CHECK(parts == doctest::Approx(one["step_us"].get<double>()));
  }
}

TEST_CASE("sgdsim layout: 1,024 GPUs have more than 10,000 layouts") {
  const Ran ran =
      run_sgdsim({"layout", "llama3.1_405b", "-c", dgx, "--gpus", "1024", "--format", "json"});
  REQUIRE(ran.exit_code == 0);
  CHECK(Json::parse(ran.out)["candidates"].get<int64_t>() >= 10'000);
}

TEST_CASE("sgdsim layout: what is refused") {
  struct Row {
    std::vector<std::string> words;
    std::string sentence;
  };
  const std::vector<Row> rows = {
      {{"llama3.1_8b", "-c", dgx, "--gpu", "h1000"}, "unknown GPU \"h1000\""},
      {{"llama3.1_8b", "-c", "topologies/data/leaf_spine_144.json", "--gpus", "4096"},
       "GPUs, and 4096 are asked for"},
      {{"llama3.1_405b", "-c", dgx, "--gpus", "8"}, "too much"},
      {{"llama3.1_8b", "-c", dgx, "--gpus", "8", "--global-batch", "7", "--layout", "tp8 ga2 sp"},
       "but --global-batch is 7"},
      {{"llama3.1_8b", "-c", dgx, "--gpus", "16", "--global-batch", "7", "--layout", "tp8 sp"},
       "but --global-batch is 7"},
      {{"llama3.1_8b", "-c", dgx, "--gpus", "1048576", "--global-batch", "100000000", "--layout",
        "tp1 mbs64"},
       "--layout: dp x mbs x ga"},
      {{"llama3.1_8b", "-c", dgx, "--layout", "tp8 sp", "--program", "megatron"},
       "--program: has no effect with --layout: it is about a search"},
      {{"llama3.1_8b", "-c", dgx, "--tokens", "15 X"}, "--tokens: expected a number of tokens"},
      {{"llama3.1_8b", "-c", dgx, "--gpus", "4", "--layout", "tp8"}, "but --gpus is 4"},
      {{"llama3.1_8b", "-c", dgx, "--layout", "tp3"}, "do not divide by tp3"},
      {{"llama3.1_70b", "-c", dgx, "--layout", "tp8 sp"}, "more than the 80.00 GiB of a GPU"},
      {{"llama3.1_8b", "-c", dgx, "--gpu", "a100", "--precision", "fp8"}, "has no FP8"},
      {{"gpt3_175b", "-c", dgx, "--sequence", "4096"}, "2048 positions that the model has learned"},
      {{"llama3.1_8b", "-c", dgx, "--memory", "1 GB"}, "--reserve: expected less"},
      {{"llama3.1_8b", "-c", dgx, "--layout", "tp8 sp", "--gradients", "bf16"}, "has no effect"},
  };
  for (const Row& row : rows) {
    std::vector<std::string> words = {"layout"};
    words.insert(words.end(), row.words.begin(), row.words.end());
    const Ran ran = run_sgdsim(words);
    INFO(ran.log);
    CHECK(ran.exit_code == 2);
    CHECK(ran.out.empty());
    CHECK(ran.log.find(row.sentence) != std::string::npos);
  }
}

}  // namespace
}  // namespace sgdsim
