// Steps of layouts on wires: where one GPU stands for all that are alike, and where all are played.
#include <algorithm>
#include <doctest/doctest.h>
#include <string>
#include <vector>

#include "models/training/step_on_wires.h"
#include "sim/core/random.h"
#include "tests/cluster_cases.h"
#include "tests/rounds.h"
#include "tests/training_cases.h"

using namespace sgdsim;

namespace {

Gpu some_gpu() {
  Gpu gpu;
  gpu.name = "some";
  gpu.bf16_flops = 5e14;
  gpu.memory_rate = Bandwidth::Bps(2e12);
  gpu.gemm = {{1, 0.5}, {1000, 0.8}};
  gpu.any_attention.forward = 0.5;
  gpu.any_attention.backward = 0.5;
  return gpu;
}

Cluster draw_cluster(Random& random, int64_t gpus) {
  switch (random.below(4)) {
    case 0:
      return one_switch(gpus);
    case 1:
      if (gpus % 4 == 0) return boxes_of_four(static_cast<int>(gpus / 4), 1 << random.below(3));
      return one_switch(gpus);
    case 2:
      if (gpus % 4 != 0) return one_switch(gpus);
      return cluster_of({{"shape", "rails"},
                         {"nodes", gpus / 2},
                         {"nodes_per_pod", 2},
                         {"gpus_per_node", 2},
                         {"spines", 1 + random.below(2)},
                         {"pxn", random.below(2) == 0},
                         {"gpu_link", {{"latency", "1 us"}, {"bandwidth", "200 GBps"}}},
                         {"pcie", {{"latency", "1 us"}, {"bandwidth", "50 GBps"}}},
                         {"nic", {{"latency", "1 us"}, {"bandwidth", "100 Gbps"}}},
                         {"uplink", {{"latency", "1 us"}, {"bandwidth", "100 Gbps"}}}});
    default:
      return cluster_of({{"shape", "leaf_spine"},
                         {"nodes", gpus},
                         {"nodes_per_leaf", gpus % 4 == 0 ? 4 : 2},
                         {"spines", 2},
                         {"nic", {{"latency", "1 us"}, {"bandwidth", "100 Gbps"}}},
                         {"uplink", {{"latency", "1 us"}, {"bandwidth", "100 Gbps"}}}});
  }
}

Transformer draw_model(Random& random) {
  Transformer model = small_model();
  model.layers = 4;
  model.kv_heads = model.heads;
  model.vocabulary = 1000 + static_cast<int64_t>(random.below(3));  // which chunks differ by
  return model;
}

// What a layout is simulated with.
struct Drawn {
  Layout layout;
  Transformer model;
  Cluster cluster;
  Gpu gpu = some_gpu();

  Drawn(Random& random, const std::string& text)
      : layout(parse_layout(text, "")),
        model(draw_model(random)),
        cluster(draw_cluster(random, layout.gpus())) {}
  TrainingStep step() const { return {model, layout, 2048, gpu, Precision::bf16}; }
};

// One to so many.
LayoutPlay with_slow_gpus(Random& random, const Layout& layout, uint64_t most) {
  LayoutPlay play;
  for (uint64_t slow = 1 + random.below(most); slow > 0; --slow)
    play.workers.slowness.push_back(
        {static_cast<int>(random.below(static_cast<uint64_t>(layout.gpus()))),
         1 + 0.1 * static_cast<double>(1 + random.below(9))});
  return play;
}

}  // namespace

TEST_CASE("alike GPUs: random layouts on wires as where every GPU is played") {
  Random random(17);
  const std::vector<std::string> sizes = {"tp2", "tp4 sp",  "tp2 cp2",    "cp2",
                                          "pp2", "tp2 pp2", "tp4 pp2 sp", "tp2 pp4 vp1"};
  const std::vector<std::string> how = {"",     " zero1",     " zero2",    " zero3",
                                        " ga2", " zero1 ga4", " zero3 ga2"};
  int fewer = 0;
  int off = 0;
  constexpr int experiments = 400;
  for (int played = 0; played < experiments; ++played) {
    const std::string text = sizes[random.below(sizes.size())] + " dp" +
                             std::to_string(1 << random.below(4)) + how[random.below(how.size())];
    CAPTURE(text);
    const Drawn drawn(random, text);
    const TrainingStep step = drawn.step();
    LayoutPlay play;
    if (random.below(3) == 0) play.workers.slowness = {{static_cast<int>(random.below(2)), 1.25}};
    StepWires all;
    all.routes.routing = random.below(2) == 0 ? Routing::split : Routing::by_destination;
    StepWires some = all;
    all.reduction = Reduction::never;
    some.reduction = Reduction::always;
    GroupTimes groups(drawn.cluster, drawn.layout.gpus());
    const StepOnWires every = play_on_wires(step, drawn.cluster, groups, all, play);
    const StepOnWires alike = play_on_wires(step, drawn.cluster, groups, some, play);
    CHECK(every.classes == 0);
    CHECK(alike.messages == every.messages);
    CHECK(alike.wire_B == doctest::Approx(every.wire_B).epsilon(1e-12));
    REQUIRE(alike.wires.kinds.size() == every.wires.kinds.size());
    const int64_t off_ps = std::abs((alike.step.time - every.step.time).ps());
    CAPTURE(off_ps);
    // Sums of rates are rounded in another order.
    CHECK(off_ps <= every.step.time.ps() / 1'000'000);
    off += off_ps > 0 ? 1 : 0;
    fewer += alike.classes > 0 ? 1 : 0;
  }
  CHECK(fewer >= experiments / 3);
  CHECK(off <= experiments / 10);
}

// Up to three slow GPUs: then hardly any are alike, and rings are played at once where they have
// their wires to themselves. To the picosecond: nothing is added up in another order.
TEST_CASE("quiet rings: random layouts with slow GPUs as where every message is played") {
  Random random(18);
  const std::vector<std::string> sizes = {"tp2", "tp4 sp",     "tp2 cp2",     "cp2",
                                          "pp2", "tp2 pp2",    "tp4 pp2 sp",  "tp2 pp4 vp1",
                                          "pp4", "tp4 pp4 sp", "tp2 pp2 vp2", ""};
  const std::vector<std::string> how = {"",     " zero1",     " zero2",     " zero3",    " ga2",
                                        " ga4", " zero1 ga4", " zero1 ga2", " zero3 ga2"};
  int quiet = 0;
  int loud = 0;
  for (int played = 0; played < rounds(400); ++played) {
    const std::string text = sizes[random.below(sizes.size())] + " dp" +
                             std::to_string(1 + random.below(8)) + how[random.below(how.size())];
    CAPTURE(text);
    const Drawn drawn(random, text);
    const TrainingStep step = drawn.step();
    const LayoutPlay play = with_slow_gpus(random, drawn.layout, 3);
    StepWires every;
    every.routes.routing = random.below(2) == 0 ? Routing::split : Routing::by_destination;
    StepWires some = every;
    every.reduction = Reduction::never;
    GroupTimes groups(drawn.cluster, drawn.layout.gpus());
    const StepOnWires all = play_on_wires(step, drawn.cluster, groups, every, play);
    const StepOnWires rings = play_on_wires(step, drawn.cluster, groups, some, play);
    CHECK(all.in_rings == 0);
    CHECK(rings.messages == all.messages);
    CHECK(rings.wire_B == doctest::Approx(all.wire_B).epsilon(1e-12));
    REQUIRE(rings.step.time == all.step.time);
    REQUIRE(rings.last_gpu == all.last_gpu);
    REQUIRE(rings.wires.kinds.size() == all.wires.kinds.size());
    for (std::size_t kind = 0; kind < all.wires.kinds.size(); ++kind)
      CHECK(rings.wires.kinds[kind].mean == doctest::Approx(all.wires.kinds[kind].mean));
    quiet += rings.in_rings > 0 ? 1 : 0;
    loud += rings.in_rings > 0 && rings.in_rings < rings.messages ? 1 : 0;
  }
  CHECK(quiet > rounds(80));
  CHECK(loud > rounds(40));
}

// One of each kind stands for replicas that are not slow until gradients are exchanged, and all are
// played again where some of them meet on a wire.
TEST_CASE("steps apart: random layouts with slow replicas as where every message is played") {
  Random random(19);
  const std::vector<std::string> sizes = {"tp4 sp", "tp4", "tp4 pp2 sp", "tp4 pp4", "tp2 pp2",
                                          "pp2",    "pp4", "tp4 cp2",    ""};
  int apart = 0;
  int together = 0;
  for (int played = 0; played < rounds(400); ++played) {
    std::string text = sizes[random.below(sizes.size())] + " dp" +
                       std::to_string(4 << random.below(2)) + " ga" +
                       std::to_string(1 + random.below(6));
    if (random.below(2) == 0) text += " zero1";
    if (random.below(4) == 0) text += " overlap=off";
    CAPTURE(text);
    Drawn drawn(random, text);
    drawn.model.vocabulary = 1024;
    const TrainingStep step = drawn.step();
    const LayoutPlay play = with_slow_gpus(random, drawn.layout, 2);
    StepWires every;
    const StepWires some = every;
    every.reduction = Reduction::never;
    GroupTimes groups(drawn.cluster, drawn.layout.gpus());
    const StepOnWires all = play_on_wires(step, drawn.cluster, groups, every, play);
    const StepOnWires few = play_on_wires(step, drawn.cluster, groups, some, play);
    REQUIRE(few.step.time == all.step.time);
    CHECK(few.last_gpu == all.last_gpu);
    CHECK(few.messages == all.messages);
    CHECK(few.wire_B == doctest::Approx(all.wire_B).epsilon(1e-12));
    CHECK(few.step.parts.products == doctest::Approx(all.step.parts.products));
    REQUIRE(few.wires.kinds.size() == all.wires.kinds.size());
    for (std::size_t kind = 0; kind < all.wires.kinds.size(); ++kind) {
      CHECK(few.wires.kinds[kind].mean == doctest::Approx(all.wires.kinds[kind].mean));
      CHECK(few.wires.kinds[kind].most == doctest::Approx(all.wires.kinds[kind].most));
    }
    apart += few.followers > 0 ? 1 : 0;
    together += few.followers == 0 ? 1 : 0;
  }
  CHECK(apart > rounds(50));
  CHECK(together > rounds(20));
}
