// The closed form of pipelines: bubbles of every schedule, who has the head, what sends lie under,
// and exchanges in every pass.
#include <algorithm>
#include <doctest/doctest.h>
#include <string>

#include "models/training/hybrid_step.h"
#include "models/training/memory.h"
#include "models/training/played_step.h"
#include "study/layout/layout_files.h"
#include "tests/cluster_cases.h"
#include "tests/training_cases.h"

namespace sgdsim {
namespace {

// A step of 2,048 tokens in closed form, and what it takes simulated. Exchanges disturb no
// products: what that costs lies elsewhere in both.
struct BothWays {
  Layout layout;
  HybridStep closed;
  double played_s = 0;
};
BothWays both_ways(const Transformer& model, const std::string& text, const char* bandwidth) {
  const Layout layout = parse_layout(text, "");
  const Cluster cluster = one_switch(layout.gpus(), bandwidth);
  GroupTimes groups(cluster, layout.gpus());
  const TrainingStep step{model, layout, 2048, undisturbed("h100"), Precision::bf16};
  return {layout, hybrid_step(step, groups), play_step(step, groups).step.time.s()};
}

TEST_CASE("closed form: the bubbles of all schedules, without communication") {
  const double f = 3;
  const double b = 7;
  const double w = 2;
  for (const int64_t p : {2, 4, 6, 16})
    for (const int64_t v : {1, 2, 3}) {
      Layout layout;
      layout.pipeline = p;
      layout.chunks = v;
      layout.micro_batches = p;
      const auto stages = static_cast<double>(p);
      const PassSeconds times{f, b, w, f + b};
      CHECK(bubble_s(layout, times) ==
            doctest::Approx((stages - 1) * (f + b) / static_cast<double>(v)));
      if (v == 2) {
        layout.schedule = PipelineSchedule::zbv;
        CHECK(bubble_s(layout, times) == doctest::Approx((stages - 1) * (b - 2 * w)));
        CHECK(bubble_s(layout, {f, b, f, f + b}) == doctest::Approx((stages - 1) * (b - f) / 2));
      }
      if (v > 1) continue;
      layout.schedule = PipelineSchedule::gpipe;
      CHECK(bubble_s(layout, times) == doctest::Approx((stages - 1) * (f + b)));
      layout.schedule = PipelineSchedule::zb1p;
      CHECK(bubble_s(layout, times) == doctest::Approx((stages - 1) * (f + b - 2 * w)));
      // Gradients of one micro-batch can wait on each rank, and not of p.
      layout.micro_batches = 1;
      CHECK(bubble_s(layout, times) ==
            doctest::Approx((stages - 1) * (f + b - 2 * w) + (stages - 1) * w));
      layout.schedule = PipelineSchedule::dualpipe;
      CHECK(bubble_s(layout, times) == doctest::Approx((stages / 2 - 1) * (f + b + b - 3 * w)));
    }
}

TEST_CASE("closed form: the law of the pipeline for many p, v and m, without communication") {
  const Transformer model = small_model();
  const Gpu gpu = load_gpu("h100");
  for (const int64_t p : {1, 2, 4, 8})
    for (const int64_t v : {1, 2, 3})
      for (const int64_t m : {8, 16, 40}) {
        if (p == 1 && v > 1) continue;
        Layout layout;
        layout.pipeline = p;
        layout.chunks = v;
        layout.micro_batches = m;
        REQUIRE(misfit_of(model, layout, 2048).empty());
        const Cluster cluster = free_cluster(static_cast<int>(p));
        GroupTimes groups(cluster, p);
        const HybridStep step = hybrid_step({model, layout, 2048, gpu, Precision::bf16}, groups);
        // The last stage has the head as well.
        const TrainingStep asked{model, layout, 2048, gpu, Precision::bf16};
        const LayerTimes layer = layer_times(asked, groups, {});
        const LayerTimes head = head_times(asked);
        const double others_s =
            48 / static_cast<double>(p) * (layer.forward.all() + layer.backward.all());
        const double last_s = others_s + head.forward.all() + head.backward.all();
        CHECK(step.parts.all() - step.parts.optimizer ==
              doctest::Approx(static_cast<double>(m) * last_s +
                              static_cast<double>(p - 1) / static_cast<double>(v) * others_s)
                  .epsilon(1e-9));
        CHECK(step.time.s() == doctest::Approx(step.parts.all()).epsilon(1e-9));
      }
}

// Every micro-batch passes through the last stage, which has the head as well, and one of them
// through the others while it waits.
TEST_CASE("closed form: with the slowest stage last, 1F1B and GPipe are the played ones") {
  const Transformer model = small_model();
  const Gpu gpu = load_gpu("h100");
  for (const std::string text : {"pp8 ga8", "pp8 ga40", "pp2 ga3", "pp8 ga8 schedule=gpipe"}) {
    CAPTURE(text);
    const Layout layout = parse_layout(text, "");
    const Cluster cluster = free_cluster(8);
    GroupTimes groups(cluster, layout.gpus());
    const TrainingStep step{model, layout, 2048, gpu, Precision::bf16};
    const HybridStep closed = hybrid_step(step, groups);
    const HybridStep played = play_step(step, groups).step;
    CHECK(played.parts.all() - played.parts.optimizer ==
          doctest::Approx(closed.parts.all() - closed.parts.optimizer).epsilon(1e-6));
  }
}

// Half of the micro-batches meet the last stage on the last rank, the others on the first one.
TEST_CASE("closed form: with dualpipe two ranks share the head") {
  const Transformer model = small_model();
  const Layout layout = parse_layout("pp4 ga16 schedule=dualpipe", "");
  const Cluster cluster = free_cluster(4);
  GroupTimes groups(cluster, 4);
  const TrainingStep asked{model, layout, 2048, load_gpu("h100"), Precision::bf16};
  const StepParts parts = hybrid_step(asked, groups).parts;
  const LayerTimes layer = layer_times(asked, groups, {});
  const LayerTimes head = head_times(asked);
  CHECK(parts.products + parts.attention + parts.element_wise ==
        doctest::Approx(16 * (12 * (layer.forward.all() + layer.backward.all()) +
                              0.5 * (head.forward.all() + head.backward.all()))));
}

// The two ranks that hold the head are slower than the others, and wait less for them: in 2 (p - 1)
// micro-batches each. Played, by passes of other lengths than a third each, it is a little less.
TEST_CASE("closed form: with dualpipe the ranks that hold the head wait less, as simulated") {
  Transformer model = small_model();
  for (const int64_t vocabulary : {1, 16'000, 64'000, 256'000})
    for (const std::string sizes : {"pp2 ga4", "pp4 ga8", "pp4 ga24", "pp8 ga16", "pp8 ga64"}) {
      CAPTURE(vocabulary);
      CAPTURE(sizes);
      model.vocabulary = vocabulary;
      const Layout layout = parse_layout(sizes + " schedule=dualpipe", "");
      const Cluster cluster = free_cluster(static_cast<int>(layout.pipeline));
      GroupTimes groups(cluster, layout.gpus());
      const TrainingStep step{model, layout, 2048, load_gpu("h100"), Precision::bf16};
      CHECK(hybrid_step(step, groups).time.s() ==
            doctest::Approx(play_step(step, groups).step.time.s()).epsilon(0.025));
    }
}

TEST_CASE("closed form: with dualpipe no faster link makes a step longer") {
  for (const std::string words :
       {"pp8 dp8 ga16 zero2", "pp4 dp4 ga8 zero3", "pp8 dp2 ga16 zero1"}) {
    CAPTURE(words);
    double before_s = 1e9;
    for (const char* bandwidth :
         {"25 Gbps", "100 Gbps", "200 Gbps", "400 Gbps", "800 Gbps", "1600 Gbps", "6400 Gbps"}) {
      CAPTURE(bandwidth);
      const BothWays step = both_ways(small_model(), words + " schedule=dualpipe", bandwidth);
      CHECK(step.closed.time.s() <= before_s);
      before_s = step.closed.time.s();
    }
  }
}

// A rank of 1F1B between two others sends twice for each micro-batch before it goes on, but for the
// first and the last, whose sends are those of the filling and draining pipeline, and once between
// them. With ZB1P what goes around between all ranks is F, I and a send each way, beside which W is
// done, but for those passes ahead of which no W waits yet; with DualPipe the passes of one way
// lie beside what the other way sends.
TEST_CASE("closed form: what sends lie under, by hand") {
  Transformer model = small_model();
  model.vocabulary = 1;
  for (const char* bandwidth : {"1 Gbps", "1000 Gbps"}) {
    const Cluster cluster = one_switch(4, bandwidth);
    GroupTimes groups(cluster, 4);
    const auto step_of = [&](const char* text) {
      return hybrid_step({model, parse_layout(text, ""), 2048, load_gpu("h100"), Precision::bf16},
                         groups);
    };
    const HybridStep zb1p = step_of("pp4 ga16 schedule=zb1p");
    const double send_s = zb1p.send_s;
    const double fill_s = 2 * 3 * send_s;
    // Where the kernels behind the last layer take longer than a send, the last rank is the
    // slowest.
    const HybridStep plain = step_of("pp4 ga16");
    const double own = plain.slowest_stage == 3 ? 15 : 15 * 2 - 1;
    CHECK(plain.parts.sends == doctest::Approx(own * send_s + fill_s));
    CHECK(step_of("pp4 ga16 schedule=gpipe").parts.sends ==
          doctest::Approx(15 * 2 * send_s + fill_s));
    CHECK(step_of("pp2 ga16").parts.sends == doctest::Approx(15 * send_s + fill_s / 3));
    CHECK(zb1p.parts.sends ==
          doctest::Approx(16 * 3 / 4. * std::max(0.0, 2 * send_s - zb1p.weight_s) + 2 * fill_s));
    for (const char* text : {"pp4 ga16", "pp4 ga1", "pp4 ga16 schedule=gpipe", "pp2 ga16"}) {
      CAPTURE(text);
      const BothWays step = both_ways(model, text, bandwidth);
      CHECK(step.played_s == doctest::Approx(step.closed.time.s()).epsilon(1e-3));
    }
    const HybridStep dualpipe = step_of("pp4 ga16 schedule=dualpipe");
    const double both_s = dualpipe.forward_s + dualpipe.backward_s;
    CHECK(dualpipe.parts.sends ==
          doctest::Approx(16 * 2 * std::max(0.0, send_s - both_s) + fill_s));
    CHECK(zb1p.parts.sends + zb1p.hidden.sends == doctest::Approx(16 * 2 * send_s + fill_s));
  }
}

// Where computing takes no time, every pass takes as long as what replicas exchange in it: two
// send each other halves, of weights (2 bytes) before each pass and of gradients (4 bytes) behind.
// Every pass has one layer: while the pipeline fills, each of the other stages waits for weights;
// its gradients go out under what follows.
TEST_CASE("closed form: exchanges in every pass make passes and the bubble longer, by hand") {
  Transformer model = small_model();
  model.layers = 4;
  model.kv_heads = model.heads;
  model.vocabulary = 1;
  const double layer_s = 1024.0 * (4 * 1024 + 3 * 4096 + 2) / 125e6;  // a byte for each parameter
  const auto step_s = [&](const std::string& text) {
    const Layout layout = parse_layout(text, "");
    const Cluster cluster = one_switch(layout.gpus(), "1 Gbps");
    GroupTimes groups(cluster, layout.gpus());
    const StepParts parts =
        hybrid_step({model, layout, 16, load_gpu("h100"), Precision::bf16}, groups).parts;
    return parts.all() - parts.sends - parts.optimizer;
  };
  const auto near = [](double layers_s) { return doctest::Approx(layers_s).epsilon(3e-3); };
  // Eight micro-batches.
  CHECK(step_s("pp4 dp2 ga8 zero3") == near((8 * 4 + 3) * layer_s));
  CHECK(step_s("pp4 dp2 ga8 zero3 reshard=off") == near((8 * 3 + 3) * layer_s));
  CHECK(step_s("pp4 dp2 ga8 zero2") == near((8 * 2 + 1) * layer_s));  // weights once
  // (p - 1)(F + B - W) = 3 (1 + 3 - 2), of which gradients of three micro-batches fill 1 each
  CHECK(step_s("pp4 dp2 ga8 zero3 schedule=zb1p") == near((8 * 4 + 3) * layer_s));
  // (p/2 - 1)(F&B + B - 3W) = 4 + 3 - 3 x 2, and the gradients of two layers, of which each of two
  // replicas keeps half, agree with those of the other copy of the stages.
  CHECK(step_s("pp4 dp2 ga8 zero3 schedule=dualpipe") == near((8 * 4 + 1 + 4) * layer_s));
}

// Layers that are alike, and nothing behind the last one.
Transformer even_model(int64_t layers) {
  Transformer model = small_model();
  model.layers = layers;
  model.vocabulary = 1;
  return model;
}

// While a pipeline with virtual stages fills, a rank does p forward passes of each of the others,
// but what the last of these ranks sends takes as long as the p sends on its way around: v p - 1
// sends are waited for, and as many while it drains. In between they lie under other passes.
TEST_CASE("closed form: sends around a pipeline with virtual stages, by hand and as simulated") {
  for (const char* bandwidth : {"200 Gbps", "400 Gbps", "1000 Gbps"})
    for (const char* text : {"pp2 vp2 ga2", "pp2 vp8 ga4", "pp4 vp2 ga4", "pp4 vp4 ga4",
                             "pp4 vp4 ga40", "pp8 vp2 ga16"}) {
      CAPTURE(bandwidth);
      CAPTURE(text);
      const auto [layout, closed, played_s] = both_ways(even_model(32), text, bandwidth);
      const auto chunks = static_cast<double>(layout.chunks);
      REQUIRE(closed.send_s < std::min(closed.forward_s, closed.backward_s) / chunks);
      CHECK(
          closed.parts.sends ==
          doctest::Approx(2 * (chunks * static_cast<double>(layout.pipeline) - 1) * closed.send_s));
      // Times are rounded to picoseconds, pass by pass.
      CHECK(played_s == doctest::Approx(closed.time.s()).epsilon(1e-6));
    }
}

// A rank passes on what it does forward b + s after the one before it at the earliest, or else a
// backward pass could not come back in time: where a send takes longer than a forward pass, so does
// every pass of each way. How the first and the last of them meet is left out, so that a tenth may
// be missing of a step that is mostly sends.
TEST_CASE("closed form: sends that take longer than passes") {
  for (const char* bandwidth : {"1 Gbps", "2 Gbps", "3 Gbps"})
    for (const char* text : {"pp4 vp4 ga16", "pp4 vp4 ga64", "pp2 vp4 ga32"}) {
      CAPTURE(bandwidth);
      CAPTURE(text);
      const auto [layout, closed, played_s] = both_ways(even_model(32), text, bandwidth);
      REQUIRE(closed.send_s > closed.forward_s / static_cast<double>(layout.chunks));
      CHECK(played_s == doctest::Approx(closed.time.s()).epsilon(0.1));
    }
}

// Two replicas send each other halves of a layer's weights (2 bytes) and gradients (4 bytes). Each
// virtual stage has one layer, and between the exchanges of two of them there are passes of two
// micro-batches: all exchanges but the first or the last one lie under them, unless they take
// longer. Then one layer's remains, and what each of the others takes longer. Simulated, the
// exchange of one end may also lie under the pass of a rank that waits: a part of one of 64 passes.
TEST_CASE("closed form: exchanges of virtual stages, by hand and as simulated") {
  Transformer model = even_model(8);
  model.kv_heads = model.heads;
  for (const char* bandwidth : {"10 Gbps", "40 Gbps", "400 Gbps"}) {
    CAPTURE(bandwidth);
    const BothWays step = both_ways(model, "pp2 dp2 vp4 ga8 zero1", bandwidth);
    const HybridStep& closed = step.closed;
    const double byte_s = 8 / (1e9 * std::stod(bandwidth));
    const double weights_s = 1024.0 * (4 * 1024 + 3 * 4096 + 2) * byte_s;  // 2 bytes, by half
    const auto remains = [&](double exchange_s, double passes_s) {
      const double turn_s = 2 * (passes_s / 4 + closed.send_s);
      return exchange_s + 3 * std::max(0.0, exchange_s - turn_s);
    };
    CHECK(closed.parts.data == doctest::Approx(remains(weights_s, closed.forward_s) +
                                               remains(2 * weights_s, closed.backward_s))
                                   .epsilon(3e-3));
    CHECK(step.played_s == doctest::Approx(closed.time.s()).epsilon(0.03));
  }
}

// A rank alone has nobody to exchange with, whatever it would share.
TEST_CASE("closed form: without replicas all stages of zero are one") {
  for (const std::string text : {"pp2 vp2 ga4 mbs2", "pp4 vp3 ga8", "pp4 ga8", "ga2",
                                 "pp4 ga8 schedule=zb1p", "pp4 ga8 schedule=dualpipe"}) {
    CAPTURE(text);
    const BothWays plain = both_ways(even_model(24), text + " zero0", "100 Gbps");
    for (const char* zero : {" zero1", " zero2", " zero3", " zero3 reshard=off"}) {
      CAPTURE(zero);
      const BothWays step = both_ways(even_model(24), text + zero, "100 Gbps");
      CHECK(step.closed.time == plain.closed.time);
      CHECK(step.played_s == doctest::Approx(plain.played_s).epsilon(1e-9));
      CHECK(largest_memory(even_model(24), step.layout, 2048).total_B() ==
            largest_memory(even_model(24), plain.layout, 2048).total_B());
    }
  }
}

// Weights of a layer are fetched under the one before it, behind the gradients of the one before
// that. Where a virtual stage has one layer, a forward pass of f hides gradients r and weights g, a
// backward pass of b only weights. Of 16 micro-batches the first and the last are a little unlike
// the others.
TEST_CASE("closed form: weights and gradients between passes of single layers, as simulated") {
  for (const char* bandwidth : {"50 Gbps", "100 Gbps", "200 Gbps", "400 Gbps"})
    for (const char* text :
         {"pp2 dp2 vp4 ga16 zero3", "pp2 dp4 vp2 ga16 zero3", "pp4 dp2 vp2 ga16 zero3",
          "pp2 dp2 vp4 ga16 zero3 reshard=off", "pp2 dp2 vp2 ga16 zero3 reshard=off",
          "pp2 dp2 vp4 ga16 zero2", "pp2 dp2 vp1 ga16 zero2", "dp2 ga16 zero3", "dp2 ga16 zero2"}) {
      CAPTURE(bandwidth);
      CAPTURE(text);
      const BothWays step = both_ways(even_model(8), text, bandwidth);
      CHECK(step.played_s == doctest::Approx(step.closed.time.s()).epsilon(0.03));
    }
}

}  // namespace
}  // namespace sgdsim
