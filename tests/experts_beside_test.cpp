// Exchanges of experts that lie under the passes of another micro-batch with 1F1B: which passes are
// pairs, how long a pipeline of them takes, what is in flight, and how programs say so.
#include <doctest/doctest.h>

#include "models/training/hybrid_step.h"
#include "models/training/link_load.h"
#include "models/training/memory.h"
#include "models/training/pipeline_play.h"
#include "models/training/played_step.h"
#include "models/training/step_on_wires.h"
#include "study/layout/foreign_layout.h"
#include "study/layout/layout_files.h"
#include "tests/cluster_cases.h"
#include "tests/texts.h"
#include "tests/training_cases.h"

namespace sgdsim {
namespace {

Layout paired(int64_t p, int64_t v, int64_t m) {
  Layout layout;
  layout.pipeline = p;
  layout.chunks = v;
  layout.micro_batches = m;
  layout.experts = ExpertsUnder::beside;
  return layout;
}

// A pass that computes and exchanges with experts so long.
PassWork pass_of(int64_t compute_us, int64_t expert_us) {
  return {Duration::us(compute_us), Duration::us(expert_us), Duration::us(expert_us)};
}

PipelineWork alike_chunks(const Layout& layout, const ChunkWork& chunk) {
  PipelineWork work;
  work.layout = layout;
  const auto ranks = static_cast<std::size_t>(layout.pipeline);
  work.chunks.assign(ranks * static_cast<std::size_t>(layout.chunks), chunk);
  work.exchanges.resize(ranks);
  work.optimizer.resize(ranks);
  work.copies.resize(ranks);
  return work;
}

constexpr int64_t beside_sequence = 2048;

}  // namespace

// Two stages of two chunks, four micro-batches. The last rank does a round of forward passes and
// one more; the first one two more than that.
TEST_CASE("experts beside: the order of passes, as drawn") {
  const auto text_of = [](int64_t rank) {
    std::string text;
    for (const PassSlot& slot : pass_order(paired(2, 2, 4), rank)) {
      const auto name = [](int32_t chunk, int32_t micro_batch) {
        return std::to_string(chunk) + std::to_string(micro_batch);
      };
      text += text.empty() ? "" : " ";
      if (slot.has_forward()) text += "F" + name(slot.chunk, slot.micro_batch);
      if (slot.pass == Pass::both)
        text += "B" + name(slot.backward_chunk, slot.backward_micro_batch);
      if (slot.pass == Pass::backward) text += "B" + name(slot.chunk, slot.micro_batch);
    }
    return text;
  };
  CHECK(text_of(1) == "F00 F01 F10 F11B10 F02B11 F03B00 F12B01 F13B12 B13 B02 B03");
  CHECK(text_of(0) == "F00 F01 F10 F11 F02 F03B10 F12B11 F13B00 B01 B12 B13 B02 B03");
  // Without a pipeline the first forward pass and the last backward pass are alone.
  CHECK(pass_order(paired(1, 1, 3), 0).size() == 4);
}

// The last rank does w = (v - 1) p + 1 forward passes before the first pair, p - 1 of the first
// rank after the start, then mv - w pairs, and as many backward passes as it was ahead; the last
// one of them goes back through p - 1 ranks.
TEST_CASE("experts beside: a pipeline of pairs takes what its critical path does") {
  for (const auto& [forward, inputs, weights] :
       {std::tuple{pass_of(3, 4), pass_of(4, 4), pass_of(3, 0)},
        {pass_of(5, 1), pass_of(5, 1), pass_of(5, 0)},
        {pass_of(2, 9), pass_of(2, 9), pass_of(2, 0)},
        {pass_of(4, 0), pass_of(5, 0), pass_of(4, 0)}})
    for (int64_t p = 1; p <= 8; ++p)
      for (int64_t v = 1; v <= 4; ++v)
        for (int64_t m = p; m <= 5 * p; m += p) {
          if ((v == 1) != (p == 1)) continue;
          CAPTURE(p);
          CAPTURE(v);
          CAPTURE(m);
          const auto us = [](const PassWork& pass) { return (pass.compute + pass.rest).us(); };
          const double alone = us(forward) + us(inputs) + us(weights);
          const double back_compute = (inputs.compute + weights.compute).us();
          const double back_expert = (inputs.expert + weights.expert).us();
          const double pair = alone - std::min(forward.expert.us(), back_compute) -
                              std::min(back_expert, forward.compute.us());
          const double ahead = static_cast<double>(std::min((v - 1) * p + 1, m * v));
          const double all = static_cast<double>(m * v);
          const PipelinePlayed played =
              play(alike_chunks(paired(p, v, m), {forward, inputs, weights}));
          CHECK(played.time.us() ==
                doctest::Approx((all - ahead) * pair + (ahead + static_cast<double>(p - 1)) * alone)
                    .epsilon(1e-9));
          for (int64_t rank = 0; rank < p; ++rank) {
            StageMemory memory = stage_memory(small_mixture(8), paired(p, v, m), 2048, rank);
            if (8 % (p * v) == 0)
              CHECK(memory.in_flight ==
                    played.ranks[static_cast<std::size_t>(rank)].most_in_flight);
          }
        }
}

// Within 2 %: the closed form has stages that differ by their ends as one, and sends as a mean. On
// wires two passes take turns as they come, so that the word may pay nothing, and rounds to bytes.
TEST_CASE("experts beside: the closed form is what is played") {
  const Transformer model = small_mixture(8);
  const Gpu gpu = undisturbed("h100");
  double most_hidden = 0;
  for (const std::string text :
       {"dp8 ep8 ga4", "pp2 vp2 dp4 ep4 ga8", "pp4 vp2 dp2 ep2 ga8", "pp2 vp4 dp4 ep4 ga4 zero1",
        "tp2 sp pp2 vp2 dp2 ep4 ga16", "dp8 ep8 ga4 dispatch=node"}) {
    CAPTURE(text);
    for (const std::string bandwidth : {"2000 Gbps", "200 Gbps"}) {
      const Layout layout = parse_layout(text + " experts=beside", "");
      const Layout alone = parse_layout(text, "");
      REQUIRE(misfit_of(model, layout, beside_sequence) == "");
      const Cluster cluster = one_switch(layout.gpus(), bandwidth);
      GroupTimes groups(cluster, layout.gpus());
      const TrainingStep step{model, layout, beside_sequence, gpu, Precision::bf16};
      const TrainingStep other{model, alone, beside_sequence, gpu, Precision::bf16};
      const HybridStep closed = step_on_links(step, groups);
      const HybridStep before = step_on_links(other, groups);
      CHECK(closed.time.s() ==
            doctest::Approx(play_step(step, groups).step.time.s()).epsilon(0.02));
      CHECK(closed.time < before.time);
      // What is hidden is between experts, in what is played, too.
      const StepParts parts = play_step(step, groups).step.parts;
      CHECK(parts.products == doctest::Approx(closed.parts.products).epsilon(0.02));
      if (layout.pipeline == 1)  // else ranks have more or fewer pairs
        CHECK(parts.expert ==
              doctest::Approx(closed.parts.expert).epsilon(0.05).scale(closed.time.s()));
      CHECK(closed.hidden.expert + closed.parts.expert == doctest::Approx(before.parts.expert));
      most_hidden = std::max(most_hidden, closed.hidden.expert / before.parts.expert);
      // Computing of one lies beside exchanges of the other on wires, too.
      const double on_wires = play_on_wires(step, cluster, groups, {}, {}).step.time.s();
      CHECK(on_wires < play_on_wires(other, cluster, groups, {}, {}).step.time.s() * 1.001);
    }
  }
  CHECK(most_hidden > 0.7);
}

TEST_CASE("experts beside: the word of a layout, and programs that say so") {
  const Transformer model = small_mixture(8);
  CHECK(to_text(parse_layout("dp8 ep8 ga4 experts=beside", "")) ==
        "ep8 dp8 ga4 zero0 experts=beside");
  CHECK(to_json(parse_layout("dp8 ep8 experts=beside", ""))["experts"] == "beside");
  for (const auto& row : std::vector<std::pair<std::string, std::string>>{
           {"dp8", "experts=beside has no effect with ep1; leave it out"},
           {"dp8 etp2", "experts=beside has no effect with ep1; leave it out"},
           {"dp8 ep8", "experts=beside has no effect with ga1; leave it out"},
           {"pp2 dp4 ep4 ga4", "experts=beside needs virtual stages"},
           {"pp2 dp4 ep4 ga8 schedule=dualpipe", "dualpipe pairs them by itself"},
           {"pp2 dp4 ep4 ga8 schedule=zb1p", "experts=beside pairs passes of schedule=1f1b"},
           {"dp8 ep8 ga2 zero3",
            "experts=beside is not modelled for zero2 and zero3; say zero1"}}) {
    const auto& text = row.first;
    const auto& sentence = row.second;
    INFO(text);
    const std::string misfit =
        misfit_of(model, parse_layout(text + " experts=beside", ""), beside_sequence);
    CHECK(misfit.find(sentence) != std::string::npos);
  }
  CHECK(misfit_of(load_model("llama3.1_8b"), parse_layout("dp8 experts=beside", ""), 4096) ==
        "the model has no experts that experts=beside could hide; leave it out");
  const auto read = [](const std::string& text) {
    return foreign_layout(FlatSettings::read(text, "f"), {.given = 16},
                          load_model("qwen3_30b_a3b"));
  };
  const std::string flags =
      "--expert-model-parallel-size 8 --overlap-moe-expert-parallel-comm "
      "--expert-tensor-parallel-size 1 --global-batch-size 64 ";
  const std::string pipeline = "--pipeline-model-parallel-size 2 ";
  CHECK(read(flags).layout.pairs_passes());
  CHECK_FALSE(has_note(read(flags), "is not priced"));
  CHECK(read(flags + pipeline + "--num-virtual-stages-per-pipeline-rank 4").layout.pairs_passes());
  const ForeignLayout whole = read(flags + pipeline);
  CHECK_FALSE(whole.layout.pairs_passes());
  CHECK(has_note(whole, "overlap-moe-expert-parallel-comm is not priced"));
  CHECK(read("train:\n  micro_batch_size: 1\n  global_batch_size: 64\nmodel:\n  "
             "tensor_model_parallel_size: 1\n"
             "  expert_model_parallel_size: 8\ncomm_overlap:\n"
             "  overlap_moe_expert_parallel_comm: true\n")
            .layout.pairs_passes());
}

}  // namespace sgdsim
