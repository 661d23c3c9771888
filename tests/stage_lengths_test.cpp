// Stages of different lengths: words and what is refused, which chunk has which layers, memory by
// walking through the passes, and steps by hand.
#include "models/training/stage_lengths.h"

#include <algorithm>
#include <doctest/doctest.h>

#include "models/training/memory.h"
#include "models/training/pass_order.h"
#include "models/training/played_step.h"
#include "models/training/stage_costs.h"
#include "sim/core/error.h"
#include "sim/core/random.h"
#include "study/layout/layout_files.h"
#include "tests/run_program.h"
#include "tests/texts.h"
#include "tests/training_cases.h"

namespace sgdsim {
namespace {

Transformer of_layers(int64_t layers) {
  Transformer model = small_model();
  model.layers = layers;
  return model;
}

std::string chunks_text(const Transformer& model, const Layout& layout) {
  std::vector<int64_t> layers;
  for (int64_t position = 0; position < layout.chunks_in_all(); ++position)
    layers.push_back(layers_of_chunk(model, layout, position).layers());
  return stages_text(listed(layers));
}

// Each way of saying so, with a schedule; numbers are small, and often fit.
std::string random_stages(Random& random, int64_t layers) {
  const auto from = [&](int64_t least, int64_t most) {
    return least + static_cast<int64_t>(random.below(static_cast<uint64_t>(most - least + 1)));
  };
  const int64_t p = from(1, 4) * 2;
  const char* schedules[] = {"1f1b", "gpipe", "zb1p", "dualpipe", "zbv"};
  const std::string schedule = schedules[from(0, 4)];
  const int64_t v = schedule == "zbv" ? 2 : schedule == "1f1b" ? from(1, 3) : 1;
  std::string text = "pp" + std::to_string(p) + " vp" + std::to_string(v) + " ga" +
                     std::to_string(2 * p * from(1, 3)) + " schedule=" + schedule;
  switch (from(0, 3)) {
    case 0:
      return text + " stages=spread";
    case 1:
      return text + " first=" + std::to_string(v * from(1, 4));
    case 2:
      return text + " first=" + std::to_string(v * from(1, 4)) +
             " last=" + std::to_string(v * from(1, 4));
    default:
      break;
  }
  text += " stages=";
  int64_t left = layers;
  const int64_t chunks = p * v;
  for (int64_t i = 0; i + 1 < chunks; ++i) {
    const int64_t most = std::max<int64_t>(left - (chunks - 1 - i), i == 0 ? 0 : 1);
    const int64_t here = std::min(most, from(i == 0 ? 0 : 1, 2 * layers / chunks + 1));
    text += std::to_string(here) + "+";
    left -= here;
  }
  return text + std::to_string(std::max<int64_t>(0, left));
}

}  // namespace

TEST_CASE("stage lengths: words are read and written") {
  const std::vector<std::pair<std::string, std::string>> rows = {
      {"pp4 zero0 stages=spread", ""},
      {"pp4 zero1 stages=1+2x2+3", ""},
      {"pp4 vp2 zero0 ends=layers stages=0+1x6+0 gradients=bf16", ""},
      {"pp4 zero0 first=3", ""},
      {"pp4 zero0 last=3", ""},
      {"pp4 vp2 zero0 first=4 last=2", ""},
      {"pp4 zero0 stages=2+2+2+3", "pp4 zero0 stages=2x3+3"},
      {"pp4 zero0 stages=2x2+2+3x1", "pp4 zero0 stages=2x3+3"},
      {"pp4 zero0 stages=even", "pp4 zero0"},
  };
  for (const auto& row : rows) {
    INFO(row.first);
    const Layout layout = parse_layout(row.first, "");
    const std::string text = row.second.empty() ? row.first : row.second;
    CHECK(to_text(layout) == text);
    CHECK(parse_layout(text, "") == layout);
    const Json json = to_json(layout);
    CHECK(read_layout(Value(json, "layout.json", "")) == layout);
  }
  const Json json = {{"schema", "sgdsim/layout/1"}, {"pp", 4}, {"stages", "1+2x2+3"}};
  CHECK(to_text(read_layout(Value(json, "f", ""))) == "pp4 zero0 stages=1+2x2+3");
}

TEST_CASE("stage lengths: words that are none are refused") {
  const std::vector<std::pair<std::string, std::string>> rows = {
      {"stages=", "expected even, spread, or the layers of every chunk"},
      {"stages=4+", "expected even, spread"},
      {"stages=+4", "expected even, spread"},
      {"stages=4++4", "expected even, spread"},
      {"stages=x3", "expected even, spread"},
      {"stages=4x", "expected even, spread"},
      {"stages=4x0", "expected even, spread"},
      {"stages=4x-1", "expected even, spread"},
      {"stages=-4", "expected even, spread"},
      {"stages=4,5", "expected even, spread"},
      {"stages=4.5", "expected even, spread"},
      {"stages=uneven", "expected even, spread"},
      {"stages=100001", "each from 0 to 100000"},
      {"stages=1x100001", "each from 0 to 100000"},
      {"stages=99999999999999999999", "each from 0 to 100000"},
      {"stages=4 stages=5", "\"stages\" occurs twice"},
      {"first=0", "expected a whole number from 1 to 100000 after \"first=\""},
      {"first=-2", "expected a whole number from 1"},
      {"last=", "expected a whole number from 1"},
      {"last=3x", "expected a whole number from 1"},
      {"last=100001", "expected a whole number from 1"},
      {"first=2 first=2", "\"first\" occurs twice"},
  };
  for (const auto& row : rows) {
    INFO(row.first);
    const std::string why = refusal_of([&] { parse_layout("pp4 " + row.first, "--layout"); });
    INFO(why);
    CHECK(why.find(row.second) != std::string::npos);
  }
  for (const Json& stages : {Json("4+"), Json(4), Json("-1"), Json(Json::array({4, 5}))}) {
    const Json json = {{"schema", "sgdsim/layout/1"}, {"pp", 2}, {"stages", stages}};
    CHECK_THROWS_AS(read_layout(Value(json, "f", "")), InputError);
  }
  const Json json = {{"schema", "sgdsim/layout/1"}, {"pp", 2}, {"first", 0}};
  CHECK_THROWS_AS(read_layout(Value(json, "f", "")), InputError);
}

// By a drawing. Spread: the last chunk has fewer first, then the first, then from the end
// backwards.
TEST_CASE("stage lengths: which chunk has how many layers") {
  struct Row {
    int64_t layers;
    std::string layout;
    std::string chunks;
  };
  const std::vector<Row> rows = {
      {12, "pp4 stages=spread", "3x4"},
      {11, "pp4 stages=spread", "3x3+2"},
      {10, "pp4 stages=spread", "2+3x2+2"},
      {9, "pp4 stages=spread", "2+3+2x2"},
      {61, "pp16 stages=spread", "3+4x13+3x2"},
      {61, "pp16 vp2 ga16 stages=spread", "1+2x29+1x2"},
      {5, "pp6 stages=spread", "1x5+0"},
      {4, "pp6 stages=spread", "0+1x4+0"},
      {1, "pp3 stages=spread", "0+1+0"},
      {61, "pp16 stages=2+4x14+3", "2+4x14+3"},
      {61, "pp16 vp2 ga16 stages=3+2x29+0x2", "3+2x29+0x2"},
      {61, "pp4 first=13", "13+16x3"},
      {61, "pp4 last=1", "20x3+1"},
      {61, "pp4 first=13 last=10", "13+19x2+10"},
      {61, "pp2 first=20 last=41", "20+41"},
      // Of the whole stage, over both of its chunks.
      {16, "pp4 vp2 ga4 first=2 last=6", "1+2x2+3+1+2x2+3"},
      {16, "pp4 vp2 ga8 schedule=zbv first=2 last=6", "1+2x2+3x2+2x2+1"},
      {16, "pp4 vp2 ga8 schedule=zbv stages=spread", "2x8"},
      {15, "pp4 ga8 schedule=dualpipe stages=spread", "4x3+3"},
  };
  for (const Row& row : rows) {
    INFO(row.layout);
    const Transformer model = of_layers(row.layers);
    const Layout layout = parse_layout(row.layout, "");
    CHECK(misfit_of(model, layout, 2048) == "");
    CHECK(chunks_text(model, layout) == row.chunks);
  }
}

TEST_CASE("stage lengths: over all stages there are the layers of the model, at random") {
  Random random(37);
  int fitting = 0;
  for (int i = 0; i < 2000; ++i) {
    const auto layers = static_cast<int64_t>(1 + random.below(40));
    Transformer model = load_model("deepseek_v3");
    model.layers = layers;
    const std::string text = random_stages(random, layers);
    CAPTURE(layers);
    CAPTURE(text);
    const Layout layout = parse_layout(text, "");
    if (!misfit_of(model, layout, 2048).empty()) continue;
    ++fitting;
    StageLayers all;
    for (int64_t stage = 0; stage < layout.pipeline; ++stage)
      all += layers_of_stage(model, layout, stage);
    CHECK(all.kinds == model.kinds());
    int64_t next = 0;
    for (int64_t position = 0; position < layout.chunks_in_all(); ++position) {
      const ChunkLayers chunk = chunk_layers(model, layout, position);
      CHECK(chunk.from == next);
      CHECK(chunk.to >= chunk.from);
      CHECK(chunk.to - chunk.from <= longest_chunk(layers, layout));
      next = chunk.to;
    }
    CHECK(next == layers);
  }
  CHECK(fitting > 500);
}

TEST_CASE("stage lengths: what does not fit is a sentence that says what would") {
  struct Row {
    int64_t layers;
    std::string layout;
    std::string sentence;
  };
  const std::vector<Row> rows = {
      {61, "pp16",
       "the 61 layers do not divide by pp x vp = 16; the next smaller divisor is 1; "
       "stages=spread, where some have a layer less, would fit"},
      {61, "pp3", "where embedding and loss count as a layer each, would fit; stages=spread"},
      {61, "pp63", "61 layers are to be spread; stages=spread, where"},
      {61, "pp64", "are to be spread"},
      {61, "pp64 stages=spread",
       "only the first and the last chunk can be without, so that up to 63 would fit"},
      {61, "stages=spread", "stages=spread has no effect with pp1; leave it out"},
      {61, "first=3 last=2", "first=3 and last=2 have no effect with pp1; leave it out"},
      {61, "pp16 stages=spread first=3", "stages=spread and first=3 contradict each other"},
      {61, "pp16 stages=4x15+1 last=1", "contradict each other"},
      {61, "pp3 stages=20+21+20 ends=layers", "leave one of them out"},
      {61, "pp16 ends=layers first=3", "and first=3 does not; leave one of them out"},
      {61, "pp16 stages=4x14+5", "names 15 chunks, but pp x vp is 16; stages=3+4x13+3x2 would fit"},
      {61, "pp16 stages=4x16", "are 64 in all, but the model has 61; stages=3+4x13+3x2 would fit"},
      {61, "pp16 stages=4x13+9+0+0", ""},
      {61, "pp16 stages=4x12+0+9+4+0", "has chunks without a layer"},
      {61, "pp16 stages=0x2+5x11+2x3", "has chunks without a layer"},
      {61, "pp16 stages=4x14+0+5", "has chunks without a layer"},
      {61, "pp16 stages=5x12+1+0x3", "has chunks without a layer"},
      {61, "pp16 first=3",
       "first=3 leaves 58 layers, which do not divide by the 15 other stages x vp = 15; first=1 "
       "would fit"},
      {61, "pp16 first=3 last=3",
       "first=3 and last=3 leave 55 layers, which do not divide by the 14 other stages x vp = 14; "
       "first=2 would fit"},
      {61, "pp4 first=60",
       "leaves 1 layers to the 3 chunks of the other stages, each of which needs one; first=58 "
       "would fit"},
      {61, "pp4 first=80", "first=80 is 80 layers, but the model has 61; first=58 would fit"},
      {61, "pp2 first=20 last=40",
       "first=20 and last=40 are 60 layers, but the model has 61; first=21 would fit"},
      {16, "pp4 vp2 ga4 first=3", "would fit"},
      {17, "pp4 vp2 ga4 first=5", "first=5 does not divide by vp2"},
      {61, "pp16 stages=spread recompute=block:4", ""},
      {61, "pp16 stages=spread recompute=block:5", "more than the 4 layers of the longest chunk"},
      {61, "pp4 first=13 recompute=uniform:17", "more than the 16 layers of the longest chunk"},
  };
  for (const Row& row : rows) {
    INFO(row.layout);
    const std::string misfit = misfit_of(of_layers(row.layers), parse_layout(row.layout, ""), 2048);
    INFO(misfit);
    if (row.sentence.empty())
      CHECK(misfit.empty());
    else
      CHECK(misfit.find(row.sentence) != std::string::npos);
  }
}

// 2 + 4 + 12 bytes a parameter, and on stage r of p the layers of min(m, p - r) micro-batches.
TEST_CASE("stage lengths: memory of each stage by the formulas") {
  const Transformer model = of_layers(10);
  const Layout layout = parse_layout("pp4 ga8 stages=1+4+2+3", "");
  const double layer_B = layer_activations_B(model, layout, 2048, {});
  const double layer = rank_layer_parameters(model, layout, {}).all();
  const double layers[] = {1, 4, 2, 3};
  for (int64_t stage = 0; stage < 4; ++stage) {
    const StageMemory memory = stage_memory(model, layout, 2048, stage);
    const double held = layers[stage];
    CHECK(memory.parameters.all() - memory.parameters.ends == doctest::Approx(held * layer));
    CHECK(memory.states_B() == doctest::Approx(18 * memory.parameters.all()));
    CHECK(memory.in_flight == 4 - stage);
    CHECK(memory.activations_B == doctest::Approx(static_cast<double>(4 - stage) * held * layer_B));
  }
}

// The passes of each rank one by one: what a forward pass keeps stays until the backward pass, or
// until that part of it which makes gradients of weights.
TEST_CASE("stage lengths: memory is the most that passes keep, at random") {
  Random random(38);
  int seen = 0;
  for (int i = 0; i < 400; ++i) {
    const auto layers = static_cast<int64_t>(8 + random.below(24));
    const Transformer model = of_layers(layers);
    const std::string text = random_stages(random, layers);
    CAPTURE(text);
    const Layout layout = parse_layout(text, "");
    if (!misfit_of(model, layout, 2048).empty()) continue;
    ++seen;
    const double layer_B = layer_activations_B(model, layout, 2048, {});
    const double input_B = 2.0 * 2048 * 1024;
    for (int64_t rank = 0; rank < layout.pipeline; ++rank) {
      double now_B = 0;
      double most_B = 0;
      const auto kept_B = [&](int64_t chunk) {
        const StageLayers held =
            layers_of_chunk(model, layout, position_of(layout, {rank, chunk}).position);
        return static_cast<double>(held.layers()) * layer_B + (held.embeds ? input_B : 0);
      };
      for (const PassSlot& slot : pass_order(layout, rank)) {
        if (slot.has_forward()) now_B += kept_B(slot.chunk);
        most_B = std::max(most_B, now_B);
        if (slot.has_weights())
          now_B -= kept_B(slot.pass == Pass::both ? slot.backward_chunk : slot.chunk);
      }
      CHECK(std::abs(now_B) < 1);
      const StageMemory memory = stage_memory(model, layout, 2048, rank);
      const bool has_head = layers_of_stage(model, layout, rank).has_head ||
                            (layout.schedule == PipelineSchedule::dualpipe && rank == 0);
      const double logits_B = has_head ? 6.0 * 2048 * 32000 : 0;
      CHECK(memory.activations_B + memory.ends_B == doctest::Approx(most_B + logits_B));
    }
  }
  CHECK(seen > 100);
}

// Without communication. Every micro-batch passes through the long stage, and one of them through
// the others while it waits.
TEST_CASE("stage lengths: 1F1B with one long stage at the end, by hand") {
  const Transformer model = of_layers(12);
  const Gpu gpu = load_gpu("h100");
  for (const std::string text : {"pp4 ga8 stages=2x3+6", "pp4 ga8 last=6", "pp4 ga5 stages=1+3+2+6",
                                 "pp2 ga7 first=1", "pp4 ga8 schedule=gpipe stages=1+3+2+6"}) {
    CAPTURE(text);
    const Layout layout = parse_layout(text, "");
    REQUIRE(misfit_of(model, layout, 2048).empty());
    const Cluster cluster = free_cluster(4);
    GroupTimes groups(cluster, layout.gpus());
    const TrainingStep step{model, layout, 2048, gpu, Precision::bf16};
    const PipelineWork work = pipeline_work(step, groups);
    const auto length = [](const PassWork& pass) { return pass.compute + pass.rest; };
    Duration all;
    Duration longest;
    for (const ChunkWork& chunk : work.chunks) {
      longest = length(chunk.forward) + length(chunk.inputs) + length(chunk.weights);
      all += longest;
    }
    const Duration expected = all + longest * (layout.micro_batches - 1);
    CHECK(play(work).ranks.front().passes_end - Time() == expected);
    const HybridStep closed = hybrid_step(step, groups);
    CHECK(closed.slowest_stage == layout.pipeline - 1);
    CHECK(closed.parts.all() - closed.parts.optimizer ==
          doctest::Approx(expected.s()).epsilon(1e-9));
  }
}

// The slowest stage takes all micro-batches, and at least one of them takes the way through all
// stages; the closed form is above that, and no more than if all stages were as slow.
TEST_CASE("stage lengths: 1F1B at random lies between the slowest stage and equal stages") {
  Random random(39);
  const Gpu gpu = load_gpu("h100");
  for (int i = 0; i < 300; ++i) {
    const auto layers = static_cast<int64_t>(8 + random.below(24));
    const Transformer model = of_layers(layers);
    const std::string text = random_stages(random, layers);
    CAPTURE(text);
    const Layout layout = parse_layout(text, "");
    if (!misfit_of(model, layout, 2048).empty() || layout.chunks > 1 ||
        layout.schedule != PipelineSchedule::one_f_one_b)
      continue;
    const Cluster cluster = free_cluster(8);
    GroupTimes groups(cluster, layout.gpus());
    const TrainingStep step{model, layout, 2048, gpu, Precision::bf16};
    const HybridStep closed = hybrid_step(step, groups);
    const double played_s = play_step(step, groups).pipeline.ranks.front().passes_end.us() * 1e-6;
    const double closed_s = closed.parts.all() - closed.parts.optimizer;
    const double slot_s = closed.forward_s + closed.backward_s;
    double forward_s = 0;
    double backward_s = 0;
    const PipelineWork work = pipeline_work(step, groups);
    for (const ChunkWork& chunk : work.chunks) {
      forward_s = std::max(forward_s, (chunk.forward.compute + chunk.forward.rest).s());
      backward_s = std::max(backward_s, (chunk.inputs.compute + chunk.inputs.rest +
                                         chunk.weights.compute + chunk.weights.rest)
                                            .s());
    }
    const double equal_s = forward_s + backward_s;
    const auto m = static_cast<double>(layout.micro_batches);
    const auto p = static_cast<double>(layout.pipeline);
    CHECK(played_s > m * slot_s * (1 - 1e-9));
    CHECK(closed_s > m * slot_s);
    CHECK(closed_s <= (m + p - 1) * slot_s * (1 + 1e-9));
    CHECK(played_s <= (m + p - 1) * equal_s * (1 + 1e-9));
  }
}

// 16 stages and DualPipe on 2,048 GPUs, experts over 64, 15,360 sequences of 4,096, as it was
// trained. Each rank has the stages r and 15 - r: 3 + 3 layers at both ends, 4 + 3 at 1 and 14.
TEST_CASE("stage lengths: DeepSeek-V3 as it was trained") {
  const Transformer model = load_model("deepseek_v3");
  const Layout layout = parse_layout(
      "pp16 ep64 dp128 ga120 zero1 schedule=dualpipe stages=spread gradients=bf16", "");
  CHECK(layout.gpus() == 2048);
  CHECK(layout.batch() == 15360);
  CHECK(misfit_of(model, layout, 4096) == "");
  double parameters = 0;
  for (int64_t stage = 0; stage < 16; ++stage) {
    const int64_t both = layers_of_stage(model, layout, stage).layers() +
                         layers_of_stage(model, layout, 15 - stage).layers();
    CHECK(both == (stage == 0 || stage == 15 ? 6 : stage == 1 || stage == 14 ? 7 : 8));
    parameters += rank_parameters(model, layout, stage).experts * 64;
  }
  // 58 layers of 256 experts of three matrices of 7,168 x 2,048, held twice.
  CHECK(parameters == doctest::Approx(2 * 58.0 * 256 * 3 * 7168 * 2048));
  const Ran shown = run_sgdsim({"layout", "deepseek_v3", "-c", "topologies/data/dgx_h100_4.json",
                                "--global-batch", "15360", "--memory", "400GB", "--format", "json",
                                "--layout", to_text(layout)});
  CHECK(shown.exit_code == 0);
}

}  // namespace sgdsim
