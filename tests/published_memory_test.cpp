// Peaks of memory that were published, against the formulas.
#include <algorithm>
#include <array>
#include <cmath>
#include <doctest/doctest.h>
#include <vector>

#include "models/training/layout.h"
#include "models/training/memory.h"
#include "models/training/transformer_file.h"
#include "study/layout/layout_files.h"
#include "tests/source_tree.h"
#include "tests/training_cases.h"

namespace sgdsim {
namespace {

// MooreThreads/SimuMax (Apache-2.0), docs/b200/b200_release_v1.2_summary.md, "real alloc": the most
// that PyTorch allocated on any rank, in GiB. In the order of the case with the same steps, one for
// each layout and length; the number of micro-batches makes no difference there.
constexpr std::array published_GiB = {66.55,  60.68,  39.07,  28.29,  45.63, 44.70, 104.30,
                                      114.00, 87.08,  81.59,  52.89,  38.57, 68.43, 104.51,
                                      87.03,  139.22, 112.67, 147.99, 118.13};

struct Held {
  Transformer model;
  Layout layout;
};

bool has_same_memory(const Held& a, const Held& b) {
  Layout layout = a.layout;
  layout.micro_batches = b.layout.micro_batches;
  return layout == b.layout && a.model.name == b.model.name && a.model.sequence == b.model.sequence;
}

std::vector<Held> layouts_of_case() {
  std::vector<Held> held;
  const Document file =
      Document::read(SGDSIM_SOURCE_DIR "/models/training/data/cases/simumax_b200.json");
  Object fields_of_case(file.root());
  const Value rows = fields_of_case.at("measured");
  for (const Value& row : rows.items()) {
    Object fields(row);
    Held one{read_transformer(fields.at("model")), parse_layout(fields.at("layout").text(), "")};
    if (held.empty() || !has_same_memory(held.back(), one)) held.push_back(std::move(one));
  }
  return held;
}

TEST_CASE("published memory: 19 peaks of Megatron-LM on B200 within 2.1 %, half within 1 %") {
  const std::vector<Held> held = layouts_of_case();
  REQUIRE(held.size() == published_GiB.size());
  std::vector<double> errors;
  for (std::size_t i = 0; i < held.size(); ++i) {
    const Transformer& model = held[i].model;
    const Layout& layout = held[i].layout;
    const double memory_GiB = largest_memory(model, layout, model.sequence).total_B() / (1LL << 30);
    INFO(to_text(layout));
    CAPTURE(memory_GiB);
    CAPTURE(published_GiB[i]);
    errors.push_back(100 * std::abs(memory_GiB / published_GiB[i] - 1));
    CHECK(errors.back() <= 2.1);
  }
  std::sort(errors.begin(), errors.end());
  CHECK(errors[errors.size() / 2] <= 1);
}

// Embedding and head have 128,256 x 4,096 weights each, a layer 218,112,000: whole weights of 2
// bytes with gradients of 4, against those of two layers and the gradients of one.
TEST_CASE("memory: what zero2 and zero3 gather whole may be embedding or head, by hand") {
  const Transformer model = load_model("llama3.1_8b");
  const double end = 128256.0 * 4096;
  const double layer = 218'112'000;
  const auto gathered_B = [&](const char* words, int64_t stage) {
    return stage_memory(model, parse_layout(words, ""), 8192, stage).gathered_B;
  };
  CHECK(gathered_B("dp8 zero3", 0) == (2 + 4) * end);
  CHECK(gathered_B("dp8 zero3 gradients=bf16", 0) == (2 + 2) * end);
  CHECK(gathered_B("dp8 zero2", 0) == 4 * end);
  CHECK(gathered_B("tp4 dp2 zero3 sp", 0) == doctest::Approx((2 + 4) * end / 4));
  // A stage between the ends has neither.
  CHECK(gathered_B("pp4 dp2 ga4 zero3", 1) == doctest::Approx((2 * 2 + 4) * layer));
  CHECK(gathered_B("pp4 dp2 ga4 zero3", 3) == (2 + 4) * end);
  // Weights stay whole from pass to pass, embedding and head among them.
  CHECK(gathered_B("dp8 zero3 reshard=off", 0) ==
        doctest::Approx(2.0 * static_cast<double>(parameters_of(model).total) + 4 * end));
}

// Transformer Engine's dummy gradients: 2 bytes for each shape of a matrix, of which a layer of
// this model has those of queries, keys and values (1,536 x 1,024), of what attention gives
// (1,024 x 1,024), and of the MLP (8,192 x 1,024 and 1,024 x 4,096), halved by tp2.
TEST_CASE("memory: gradients that are added where they are kept have placeholders, by hand") {
  Transformer model = small_model();
  const double matrices = 1024.0 * (1536 + 1024 + 8192 + 4096);
  const auto placeholders = [&](const std::string& words) {
    const auto gradients_B = [&](const std::string& rest) {
      return largest_memory(model, parse_layout(words + rest, ""), 2048).all_gradients_B();
    };
    return gradients_B("") - gradients_B(" accumulate=apart");
  };
  CHECK(placeholders("tp1") == doctest::Approx(2 * matrices));
  CHECK(placeholders("tp2 dp2 zero1 sp") == doctest::Approx(matrices));
  CHECK(placeholders("dp2 zero2") == 0);
  CHECK(placeholders("dp2 zero3") == 0);
  // Experts share their shapes: one of the eight stands for all of them.
  model.experts = Experts{.count = 8, .per_token = 2, .width = 512};
  CHECK(placeholders("dp4 ep4 zero1") == doctest::Approx(2 * 1024.0 * (1536 + 1024 + 1024 + 512)));
}

// The first rank of eight does 38 forward passes ahead, and one more before its first backward
// pass, 24 of three other chunks and 15 of the first one; that backward pass frees one of the last
// chunk, and the next forward pass is the 16th of the first. All 16 outputs of the embedding stay.
TEST_CASE("memory: outputs of the embedding with virtual stages, by hand and chunk by chunk") {
  const Transformer model = load_model("llama3.1_8b");
  const StageMemory memory =
      stage_memory(model, parse_layout("pp8 vp4 ga32 mbs8 zero1", ""), 8192, 0);
  CHECK(memory.ends_B == 16 * 2 * 8.0 * 8192 * 4096);
  CHECK(memory.in_flight == 39);
  CHECK(memory.micro_batch == 15);
  CHECK(memory.chunk == 0);
  // One round of micro-batches is all in flight then, and none is left to go on with.
  CHECK(stage_memory(model, parse_layout("pp2 vp16 ga2 zero1", ""), 8192, 0).ends_B ==
        2 * 2 * 8192.0 * 4096);
  for (const std::string sizes : {"pp8 vp4", "pp2 vp2", "pp4 vp8", "pp4 vp2", "pp16 vp2"})
    for (const int64_t rounds : {1, 2, 3}) {
      const std::string text =
          sizes + " ga" + std::to_string(rounds * parse_layout(sizes, "").pipeline) + " zero1";
      CAPTURE(text);
      const StageMemory alike = stage_memory(model, parse_layout(text, ""), 8192, 0);
      const StageMemory by_chunk =
          stage_memory(model, parse_layout(text + " stages=spread", ""), 8192, 0);
      CHECK(alike.total_B() == by_chunk.total_B());
      CHECK(alike.micro_batch == by_chunk.micro_batch);
      CHECK(alike.chunk == by_chunk.chunk);
    }
}

// The same split, written out, is counted chunk by chunk.
TEST_CASE("memory: both stages of a rank of dualpipe count what each has in flight") {
  const Transformer model = load_model("llama3.1_70b");
  for (const std::string words :
       {"pp16 dp2 ga32 zero3 schedule=dualpipe recompute=full", "tp8 pp4 ga8 schedule=dualpipe"}) {
    CAPTURE(words);
    const Layout even = parse_layout(words, "");
    std::string split = std::to_string(model.layers / even.pipeline);
    split = " stages=" + split + "x" + std::to_string(even.pipeline);
    const Layout listed = parse_layout(words + split, "");
    for (int64_t stage = 0; stage < even.pipeline; ++stage)
      CHECK(stage_memory(model, even, 8192, stage).total_B() ==
            doctest::Approx(stage_memory(model, listed, 8192, stage).total_B()).epsilon(1e-12));
  }
}

}  // namespace
}  // namespace sgdsim
