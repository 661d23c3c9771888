// What makes every pass or exchange longer makes no step of a layout shorter, in closed form.
#include <algorithm>
#include <doctest/doctest.h>
#include <initializer_list>
#include <string>

#include "models/training/link_load.h"
#include "models/training/played_step.h"
#include "sim/core/random.h"
#include "study/layout/layout_files.h"
#include "tests/cluster_cases.h"
#include "tests/training_cases.h"

namespace sgdsim {
namespace {

// Boxes of eight, a card for each GPU.
Cluster boxes_of_eight(int64_t gpus, int64_t inside_GBps, int64_t across_Gbps) {
  return cluster_from(R"({"schema": "sgdsim/cluster/1", "name": "boxes", "shape": "nvlink_box",
      "nodes": )" + std::to_string((gpus + 7) / 8) +
                      R"(, "gpus_per_node": 8, "nics_per_node": 8,
      "gpu_link": {"latency": "1 us", "bandwidth": ")" +
                      std::to_string(inside_GBps) + R"( GBps"},
      "nic": {"latency": "2 us", "bandwidth": ")" +
                      std::to_string(across_Gbps) + R"( Gbps"}})")
      .cluster;
}

// All that a step depends on.
struct Drawn {
  Transformer model;
  std::string text;
  int64_t micro_batches = 1;
  int64_t sequence = 1024;
  int64_t inside_GBps = 400;
  int64_t across_Gbps = 200;
  double speed = 1;  // of the GPU

  Layout layout() const { return parse_layout(text + " ga" + std::to_string(micro_batches), ""); }
  HybridStep step() const {
    const Layout asked = layout();
    const Cluster cluster = boxes_of_eight(asked.gpus(), inside_GBps, across_Gbps);
    GroupTimes groups(cluster, asked.gpus());
    Gpu gpu = load_gpu("h100");
    gpu.bf16_flops *= speed;
    gpu.memory_rate = Bandwidth::Bps(speed * gpu.memory_rate.Bps());
    const TrainingStep step{model, asked, sequence, gpu, Precision::bf16};
    return step_on_links(step, groups);
  }
};

template <class T>
T one_of(Random& random, std::initializer_list<T> all) {
  return all.begin()[random.below(all.size())];
}

Drawn draw(Random& random) {
  Drawn drawn;
  const bool has_experts = random.below(3) == 0;
  drawn.model = has_experts ? small_mixture(32) : small_model();
  drawn.model.layers = 32;
  const auto pipeline = one_of<int64_t>(random, {1, 2, 4, 8});
  const auto tensor = one_of<int64_t>(random, {1, 1, 2, 4});
  const auto replicas = one_of<int64_t>(random, {1, 2, 4, 8});
  const auto zero = random.below(4);
  drawn.text = "tp" + std::to_string(tensor) + " pp" + std::to_string(pipeline) + " dp" +
               std::to_string(replicas) + " zero" + std::to_string(zero);
  if (tensor > 1) drawn.text += " sp";
  if (zero == 3 && random.below(3) == 0) drawn.text += " reshard=off";
  if (pipeline > 1)
    drawn.text +=
        one_of<const char*>(random, {"", " vp2", " vp4", " schedule=gpipe", " schedule=zb1p",
                                     " schedule=dualpipe", " vp2 schedule=zbv"});
  if (has_experts && replicas > 1) drawn.text += " ep" + std::to_string(replicas);
  if (random.below(6) == 0) drawn.text += " recompute=full";
  if (zero < 2 && random.below(6) == 0) drawn.text += " overlap=off";
  if (random.below(4) == 0)
    drawn.text += one_of<const char*>(random, {" cp2", " cp2 context=gather"});
  drawn.micro_batches = 2 * pipeline * one_of<int64_t>(random, {1, 2, 4});
  drawn.sequence = one_of<int64_t>(random, {512, 1024, 4096, 8192});
  drawn.across_Gbps = one_of<int64_t>(random, {10, 50, 100, 200, 400});
  drawn.inside_GBps = one_of<int64_t>(random, {50, 400});
  return drawn;
}

TEST_CASE("closed form: no step is shorter with more to do, a slower GPU or slower links") {
  Random random(17);
  int seen = 0;
  for (int i = 0; i < 1500; ++i) {
    const Drawn drawn = draw(random);
    if (!misfit_of(drawn.model, drawn.layout(), drawn.sequence).empty()) continue;
    const HybridStep step = drawn.step();
    // With dualpipe, sends that take longer than passes are priced too simply: a longer pass hides
    // more of two of them.
    const bool sends_long = step.send_s > std::min(step.forward_s, step.backward_s);
    if (drawn.layout().schedule == PipelineSchedule::dualpipe && sends_long) continue;
    ++seen;
    const double seconds = step.parts.all();
    const auto is_no_shorter = [&](const std::string& what, const auto& change) {
      Drawn more = drawn;
      change(more);
      INFO(what);
      CAPTURE(drawn.text);
      CAPTURE(drawn.micro_batches);
      CAPTURE(drawn.sequence);
      CAPTURE(drawn.across_Gbps);
      CAPTURE(drawn.inside_GBps);
      CHECK(more.step().parts.all() >= seconds * (1 - 1e-9));
    };
    is_no_shorter("a longer sequence", [](Drawn& one) { one.sequence += one.sequence / 8; });
    is_no_shorter("a GPU a little slower", [](Drawn& one) { one.speed = 0.97; });
    is_no_shorter("half a GPU", [](Drawn& one) { one.speed = 0.5; });
    is_no_shorter("half of the cards", [](Drawn& one) { one.across_Gbps /= 2; });
    is_no_shorter("half of the links inside", [](Drawn& one) { one.inside_GBps /= 2; });
    is_no_shorter("more micro-batches", [](Drawn& one) {
      one.micro_batches += std::max<int64_t>(2, one.layout().pipeline);
    });
  }
  CHECK(seen > 700);
}

// Where passes take no time, two replicas send each other halves: g of a layer's weights, once, and
// 2 g of its gradients for each micro-batch. The first rank's third pair of passes waits for a
// forward pass of the last rank that comes p - 2 pairs later in its order, and gradients of two
// layers are still to go then.
TEST_CASE("closed form: with virtual stages the first rank waits for the last one's exchanges") {
  Transformer model = small_model();
  model.layers = 32;
  model.kv_heads = model.heads;
  model.vocabulary = 1;
  const double weights_s = 1024.0 * (4 * 1024 + 3 * 4096 + 2) / 125e6;  // of a layer
  for (const int64_t p : {4, 8})
    for (const int64_t v : {2, 4})
      for (const int64_t m : {2 * p, 4 * p}) {
        const std::string text = "pp" + std::to_string(p) + " dp2 vp" + std::to_string(v) + " ga" +
                                 std::to_string(m) + " zero2";
        CAPTURE(text);
        const Layout layout = parse_layout(text, "");
        const Cluster cluster = one_switch(layout.gpus(), "1 Gbps");
        GroupTimes groups(cluster, layout.gpus());
        const TrainingStep step{model, layout, 16, undisturbed("h100"), Precision::bf16};
        const StepParts parts = hybrid_step(step, groups).parts;
        const double layers = 32.0 / static_cast<double>(p * v);  // of a chunk
        const double of_rank = layers * static_cast<double>(v);
        const double waits = std::max(0.0, static_cast<double>(p - 2) * layers - 2);
        const double expected =
            (of_rank + 2 * (static_cast<double>(m) * of_rank + waits)) * weights_s;
        CHECK(parts.all() - parts.sends - parts.optimizer ==
              doctest::Approx(expected).epsilon(5e-3));
        CHECK(play_step(step, groups).step.time.s() == doctest::Approx(parts.all()).epsilon(0.01));
      }
}

// Exchanges lie beside every pass, and products are slower there: in the bubble, too.
TEST_CASE("closed form: slower products beside exchanges of every pass, as simulated") {
  Transformer model = small_model();
  model.layers = 32;
  const Gpu gpu = load_gpu("h100");
  REQUIRE(gpu.beside_exchanges().products > 1);
  for (const char* bandwidth : {"50 Gbps", "100 Gbps", "200 Gbps", "400 Gbps"})
    for (const char* text : {"pp4 dp2 ga8 zero3", "pp8 dp2 ga16 zero3", "pp4 dp2 ga8 zero2",
                             "pp4 dp2 ga8 zero3 reshard=off", "pp4 dp2 ga8 vp2 zero2"}) {
      CAPTURE(bandwidth);
      CAPTURE(text);
      const Layout layout = parse_layout(text, "");
      const Cluster cluster = one_switch(layout.gpus(), bandwidth);
      GroupTimes groups(cluster, layout.gpus());
      const TrainingStep step{model, layout, 2048, gpu, Precision::bf16};
      CHECK(hybrid_step(step, groups).time.s() ==
            doctest::Approx(play_step(step, groups).step.time.s()).epsilon(0.02));
    }
}

}  // namespace
}  // namespace sgdsim
