// Groups that begin and end within nodes: what their rings and exchanges of all with all put on
// cards, by bytes.
#include <doctest/doctest.h>

#include "models/training/group_times.h"
#include "models/training/step_on_wires.h"
#include "tests/cluster_cases.h"
#include "tests/training_cases.h"

namespace sgdsim {
namespace {

// Boxes of eight GPUs with so many cards of 50 GB/s.
Cluster boxes_with_cards(int nodes, int cards) {
  return cluster_of({{"shape", "nvlink_box"},
                     {"network", "nccl"},
                     {"nodes", nodes},
                     {"gpus_per_node", 8},
                     {"nics_per_node", cards},
                     {"gpu_link", {{"latency", "0.3 us"}, {"bandwidth", "400 GBps"}}},
                     {"nic", {{"latency", "0.35 us"}, {"bandwidth", "400 Gbps"}}}});
}

Cluster rails_of_eight(int nodes) {
  return cluster_of({{"shape", "rails"},
                     {"network", "nccl"},
                     {"nodes", nodes},
                     {"gpus_per_node", 8},
                     {"gpu_link", {{"latency", "0.3 us"}, {"bandwidth", "400 GBps"}}},
                     {"pcie", {{"latency", "0.1 us"}, {"bandwidth", "100 GBps"}}},
                     {"nic", {{"latency", "0.35 us"}, {"bandwidth", "400 Gbps"}}}});
}

// Of 30 GPUs the first 15 are on two nodes, of which each has 7 or more: 7 rings with a seventh of
// the bytes each. The others are on three, and the first one has a single one: one ring. Both leave
// the second node by its one card, which so carries what two members send around.
TEST_CASE("unaligned groups: cards carry the bytes of rings, however many there are") {
  const double part_B = 1e9;
  const Cluster shared = boxes_with_cards(4, 1);
  GroupTimes thirty(shared, 30);
  const double rounds = 2 * 14;
  CHECK(thirty.all_reduce_s({.stride = 1, .size = 15}, 15 * part_B) ==
        doctest::Approx(rounds * 2 * part_B / 50e9).epsilon(1e-3));
  CHECK(thirty.busy_in_ring({.stride = 1, .size = 15}, part_B).across_s ==
        doctest::Approx(2 * part_B / 50e9));
  // Two nodes each, whole: one group at each card.
  GroupTimes whole(shared, 32);
  CHECK(whole.all_reduce_s({.stride = 1, .size = 16}, 16 * part_B) ==
        doctest::Approx(2 * 15 * part_B / 50e9).epsilon(1e-3));
  // With a card for each GPU: seven rings by seven cards, and one ring by one.
  const Cluster own = boxes_with_cards(4, 8);
  GroupTimes own_cards(own, 30);
  CHECK(own_cards.all_reduce_s({.stride = 1, .size = 15}, 15 * part_B) ==
        doctest::Approx(rounds * part_B / 50e9).epsilon(1e-3));
}

// Of 24 GPUs in groups of 12: a GPU sends 8 of 12 parts to others' nodes, or 4. The middle node has
// four members of either group, which send 8 parts each by its one card.
TEST_CASE("unaligned groups: all-to-alls put each part on its card once") {
  const RankGroup twelve{.stride = 1, .size = 12};
  const double whole_B = 12e9;
  const double own_s = 8 * 1e9 / 50e9;
  CHECK(GroupTimes(boxes_with_cards(3, 8), 24).all_to_all_s(twelve, whole_B) ==
        doctest::Approx(own_s).epsilon(1e-3));
  CHECK(GroupTimes(boxes_with_cards(3, 1), 24).all_to_all_s(twelve, whole_B) ==
        doctest::Approx(8 * own_s).epsilon(1e-3));
  // On rails a part leaves by the card of its receiver's number: those of the first four carry what
  // eight GPUs send to one.
  const Cluster on_rails = rails_of_eight(3);
  GroupTimes rails(on_rails, 24);
  CHECK(rails.all_to_all_s(twelve, whole_B) == doctest::Approx(own_s).epsilon(1e-3));
  CHECK(rails.busy_directly(twelve, 11e9).across_s == doctest::Approx(own_s).epsilon(1e-3));
}

struct BothWays {
  double closed_s = 0;
  double flow_s = 0;
};
BothWays both_ways(const char* text, int cards, const AlgorithmChoice& algorithms, int nodes = 4) {
  Transformer model = small_model();
  model.layers = 8;
  const Layout layout = parse_layout(text, "");
  const Cluster cluster = boxes_with_cards(nodes, cards);
  GroupTimes groups(cluster, layout.gpus(), algorithms);
  const Gpu gpu = undisturbed("h100");
  const TrainingStep step{model, layout, 128, gpu, Precision::bf16};
  return {hybrid_step(step, groups).parts.all(),
          play_on_wires(step, cluster, groups, {}, {}).step.time.s()};
}

// Every message on its wires meets the same cards; beside the exchange there is next to nothing.
TEST_CASE("unaligned groups: exchanges between replicas, as on wires") {
  for (const int cards : {1, 8})
    for (const char* text : {"pp2 dp15 ga2 zero0 overlap=off", "pp2 dp15 ga2 zero1 overlap=off",
                             "pp2 dp12 ga2 zero1 overlap=off"}) {
      CAPTURE(text);
      CAPTURE(cards);
      const BothWays step = both_ways(text, cards, {});
      CHECK(step.closed_s == doctest::Approx(step.flow_s).epsilon(0.1));
    }
}

// Seven replicas on nodes of eight: the first and the last stage are each in one node, and those
// between them have a card that three or four of theirs share with those of another stage.
TEST_CASE("unaligned groups: each stage has its own way to its replicas") {
  const Cluster cluster = boxes_with_cards(7, 1);
  const RankGroup all{.stride = 1, .size = 7};
  const auto of_stage = [&](int64_t stage) { return RankGroup{1, 7, 7 * stage, 7, true}; };
  GroupTimes groups(cluster, 56);
  const double inside_s = 6 * 1e9 / 400e9;
  const double across_s = 6 * 2 * 1e9 / 50e9;
  CHECK(groups.all_gather_s(all, 7e9) == doctest::Approx(across_s).epsilon(1e-3));
  for (const int64_t stage : {0, 7})
    CHECK(groups.all_gather_s(of_stage(stage), 7e9) == doctest::Approx(inside_s).epsilon(1e-3));
  for (const int64_t stage : {1, 2, 3, 4, 5, 6})
    CHECK(groups.all_gather_s(of_stage(stage), 7e9) == doctest::Approx(across_s).epsilon(1e-3));
  const BothWays step = both_ways("pp8 dp7 ga8 zero1 overlap=off", 1, {}, 7);
  CHECK(step.closed_s == doctest::Approx(step.flow_s).epsilon(0.1));
}

// Of trees the blocks of two groups wait for each other at a card.
TEST_CASE("unaligned groups: trees between replicas, as on wires") {
  AlgorithmChoice trees;
  trees.add("allreduce=double_binary_tree", "--algorithm");
  for (const int cards : {1, 8}) {
    CAPTURE(cards);
    const BothWays step = both_ways("pp2 dp15 ga2 zero0 overlap=off", cards, trees);
    CHECK(step.closed_s == doctest::Approx(step.flow_s).epsilon(0.1));
  }
}

}  // namespace
}  // namespace sgdsim
