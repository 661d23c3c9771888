// Steps whose every message shares wires: without contention they are the played ones, their bytes
// are those of the formulas, and what meets on a wire takes as long as drawn by hand.
#include "models/training/step_on_wires.h"

#include <doctest/doctest.h>

#include "app/schema_check.h"
#include "models/training/expert_exchanges.h"
#include "models/training/gpu_groups.h"
#include "models/training/memory.h"
#include "models/training/stage_costs.h"
#include "models/training/stage_plan.h"
#include "sim/core/error.h"
#include "sim/core/random.h"
#include "study/layout/layout_files.h"
#include "tests/cluster_cases.h"
#include "tests/run_program.h"
#include "tests/training_cases.h"

namespace sgdsim {
namespace {

constexpr int64_t sequence = 2048;

// Four layers, and no head to speak of.
Transformer tiny_model() {
  Transformer model = small_model();
  model.layers = 4;
  model.kv_heads = model.heads;
  model.vocabulary = 1;
  return model;
}

struct Asked {
  Transformer model;
  Layout layout;
  Cluster cluster;
  Gpu gpu = undisturbed("h100");

  Asked(Transformer of_model, const std::string& text, Cluster on)
      : model(std::move(of_model)), layout(parse_layout(text, "")), cluster(std::move(on)) {}

  TrainingStep step() const { return {model, layout, sequence, gpu, Precision::bf16}; }
  StepOnWires on_wires(const LayoutPlay& options = {}) const {
    GroupTimes groups(cluster, layout.gpus());
    return play_on_wires(step(), cluster, groups, {}, options);
  }
  PlayedStep played() const {
    GroupTimes groups(cluster, layout.gpus());
    return play_step(step(), groups);
  }
};

// Bytes are whole, and times of some thousand rounds are rounded to picoseconds.
void check_near(Duration a, Duration b) { CHECK(a.s() == doctest::Approx(b.s()).epsilon(1e-7)); }

// From rank to rank, on the way of a micro-batch.
int64_t hops_of(const Layout& layout) {
  int64_t hops = 0;
  for (int64_t position = 1; position < way_length(layout); ++position)
    if (place_on_way(layout, 0, position).rank != place_on_way(layout, 0, position - 1).rank)
      ++hops;
  return hops;
}

// With dualpipe both copies of a stage agree on their gradients: a ring of two sends all of them.
double copies_B(const TrainingStep& step, const Cluster& cluster) {
  GroupTimes groups(cluster, step.layout.gpus());
  StagePlans plans(step, groups);
  double sent_B = 0;
  for (int64_t stage = 0; stage < step.layout.pipeline; ++stage)
    for (const double bytes : plans.stage(stage).copies_B)
      sent_B += static_cast<double>(step.layout.gpus() / step.layout.pipeline) * bytes;
  return sent_B;
}

}  // namespace

// Only one kind of group, so that no two messages want one port; with zero3 every layer is a piece.
TEST_CASE("steps on wires: without contention they are the played steps") {
  for (const std::string text :
       {"tp1", "tp2 ga3", "tp4 sp ga2", "tp8 sp recompute=full", "cp2 overlap=off",
        "cp4 ga3 overlap=off", "dp4 zero3 ga2", "dp8 zero3", "dp2 gradients=bf16 zero3 ga5",
        "cp4 context=gather overlap=off", "cp2 context=ulysses overlap=off ga2",
        "dp8 zero3 hsdp2 ga2", "pp4 ga8 schedule=gpipe"}) {
    CAPTURE(text);
    const Layout layout = parse_layout(text, "");
    REQUIRE(misfit_of(tiny_model(), layout, sequence).empty());
    const Asked asked(tiny_model(), text, one_switch(layout.gpus()));
    check_near(asked.on_wires().step.time, asked.played().step.time);
  }
}

// 240 million parameters in each layer, so many that they would be several buckets. The played step
// spreads the head over all pieces of its pass, on wires it is computed before the last layer.
TEST_CASE("steps on wires: with zero2 every layer is a piece, however large") {
  Transformer wide = tiny_model();
  wide.mlp_width = 77 * 1024;
  for (const std::string text : {"dp4 zero2 ga2", "dp8 zero2 ga3"}) {
    CAPTURE(text);
    const Asked asked(wide, text, one_switch(parse_layout(text, "").gpus(), "400 Gbps"));
    const LayerTimes head = head_times(asked.step());
    const double apart_s = (asked.on_wires().step.time - asked.played().step.time).s();
    CHECK(std::abs(apart_s) < head.forward.all() + head.backward.all());
  }
}

// All messages of an all-to-all are posted at once, so it pays one latency where rounds pay three:
// 8 of them in each of 4 layers and 2 micro-batches, forward and backward, and 4 us from port to
// port.
TEST_CASE("steps on wires: an all-to-all pays its latency once") {
  const Asked asked(tiny_model(), "cp4 context=ulysses overlap=off ga2", one_switch(4));
  const Duration saved = Duration::us(4) * (2 * 8 * 4 * 2);
  check_near(asked.on_wires().step.time + saved, asked.played().step.time);
}

// Here computing and exchanging take turns at being longer, so that it matters where the head is:
// at the end of a pass, or in equal parts of it.
TEST_CASE("steps on wires: weights that are kept are gathered once") {
  const Asked asked(tiny_model(), "dp8 zero3 reshard=off ga3", one_switch(8));
  const LayerTimes head = head_times(asked.step());
  const double difference_s = (asked.on_wires().step.time - asked.played().step.time).s();
  CHECK(std::abs(difference_s) <= 3 * (head.forward.all() + head.backward.all()));
  const Asked dropped(tiny_model(), "dp8 zero3 ga3", one_switch(8));
  CHECK(asked.on_wires().step.time < dropped.on_wires().step.time);
}

// What passes lose beside exchanges is the same for both, whose heads lie in other places.
TEST_CASE("steps on wires: products are slower beside exchanges, as in the played steps") {
  for (const std::string text : {"dp4 zero3 ga2", "dp2 gradients=bf16 zero3 ga5"}) {
    CAPTURE(text);
    Asked asked(tiny_model(), text, one_switch(parse_layout(text, "").gpus(), "1600 Gbps"));
    const Duration on_wires = asked.on_wires().step.time;
    const Duration played = asked.played().step.time;
    asked.gpu = load_gpu("h100");
    const Duration lost = asked.on_wires().step.time - on_wires;
    CHECK(lost.s() > 0.02 * on_wires.s());
    CHECK(lost.s() == doctest::Approx((asked.played().step.time - played).s()).epsilon(0.02));
  }
}

// A rank may receive from both sides at once: with ports this fast that is 0.1 us a message.
TEST_CASE("steps on wires: pipelines with hardly a wire are the played ones") {
  for (const std::string text :
       {"pp2 ga4", "pp4 ga8", "pp2 vp2 ga4", "pp4 ga8 schedule=zb1p", "tp2 pp2 ga4 sends=split",
        "tp2 pp2 vp2 ga4 sends=split", "tp4 pp2 vp2 ga3 sends=split schedule=zbv",
        "pp2 ga6 schedule=zb1p", "pp2 vp2 ga3 schedule=zbv", "pp2 vp2 ga5 schedule=zbv",
        "pp2 ga4 first=3", "pp4 ga8 stages=0+1+2+1", "pp3 ga6 stages=spread",
        "pp2 vp2 ga4 stages=0+1+2+1", "pp3 ga6 schedule=zb1p stages=2+1x2",
        "pp2 vp2 ga5 schedule=zbv stages=1+2+1+0"}) {
    CAPTURE(text);
    const Layout layout = parse_layout(text, "");
    const Asked asked(tiny_model(), text, one_switch(layout.gpus(), "1000 Tbps"));
    const double difference_s = (asked.on_wires().step.time - asked.played().step.time).s();
    CHECK(difference_s >= -1e-10);
    CHECK(difference_s < 0.1e-6 * static_cast<double>(2 * layout.micro_batches));
  }
}

// A ring through two boxes has as many lanes as cards: what crosses is divided among them.
TEST_CASE("steps on wires: a ring leaves a node by the cards of all its members") {
  for (const std::string text : {"dp8 zero3", "dp8 zero3 ga3", "tp8 sp", "tp2 dp4 zero3"}) {
    CAPTURE(text);
    const Asked asked(tiny_model(), text, boxes_of_four(2, 4));
    check_near(asked.on_wires().step.time, asked.played().step.time);
  }
  // One member in a box: one ring. An uneven group: as many as the box with the fewest members has.
  const auto rings_of = [](const std::string& layout, GroupKind kind, RankSchedule& schedule) {
    const Layout of = parse_layout(layout, "");
    GpuGroups groups(of, 4, schedule);
    const GpuGroups::OfGpu of_gpu = groups.of(5);
    std::vector<std::pair<std::vector<int>, uint32_t>> rings;  // and GPU 5's number in it
    for (std::size_t i = 0; i < of_gpu[kind].group->rings.size(); ++i)
      rings.emplace_back(schedule.group(of_gpu[kind].group->rings[i]),
                         of_gpu[kind].group->number_in(i, of_gpu[kind].member));
    return rings;
  };
  RankSchedule schedule(8);
  CHECK(rings_of("tp4 dp2", GroupKind::shards, schedule).size() == 1);
  CHECK(rings_of("tp4 dp2", GroupKind::tensor, schedule).size() == 1);
  const auto uneven = rings_of("dp6", GroupKind::shards, schedule);
  REQUIRE(uneven.size() == 2);
  CHECK(uneven[1].first == std::vector<int>{1, 2, 3, 0, 5, 4});
  CHECK(uneven[0].second == 5);
  CHECK(uneven[1].second == 4);
  const auto both = rings_of("dp8", GroupKind::shards, schedule);
  REQUIRE(both.size() == 4);
  CHECK(both[1].first == std::vector<int>{1, 2, 3, 0, 5, 6, 7, 4});
  CHECK(both[1].second == 4);
  for (const auto& [ranks, number] : both) CHECK(ranks[number] == 5);
}

// Four groups of two exchange between the boxes at once, after the last pass. The cards carry the
// bytes of all their groups: one card takes as long as four do with four times the bytes.
TEST_CASE("steps on wires: groups that meet at a card share it") {
  const std::string text = "tp4 dp2 overlap=off";
  const Asked wide(tiny_model(), text, boxes_of_four(2, 4));
  const Asked narrow(tiny_model(), text, boxes_of_four(2, 1));
  GroupTimes groups(wide.cluster, 8);
  StageCosts costs(wide.step(), groups);
  const RankParameters parameters = rank_parameters(wide.model, wide.layout, 0);
  // A ring of two sends all bytes of a rank once.
  const double sent_B = parameters.outside_experts() * 4;
  const double once_s = sent_B / 12.5e9;
  const double difference_s = (narrow.on_wires().step.time - wide.on_wires().step.time).s();
  CHECK(difference_s == doctest::Approx(3 * once_s).epsilon(1e-6));
  const WireUse use = narrow.on_wires().wires;
  REQUIRE(!use.busiest.empty());
  CHECK(use.busiest.front().name.kind == "nic");
  CHECK(use.busiest.front().carried_B == doctest::Approx(4 * sent_B).epsilon(1e-6));
}

TEST_CASE("steps on wires: a slow GPU keeps those that wait for it") {
  const Asked asked(tiny_model(), "dp2 overlap=off", one_switch(2));
  LayoutPlay slow;
  slow.workers.slowness = {{1, 1.5}};
  const StepOnWires even = asked.on_wires();
  const StepParts& parts = even.step.parts;
  const double compute = parts.products + parts.attention + parts.element_wise;
  CHECK(asked.on_wires(slow).step.time.s() ==
        doctest::Approx(even.step.time.s() + 0.5 * compute).epsilon(1e-7));
  CHECK(parts.all() == doctest::Approx(even.step.time.s()).epsilon(1e-9));
  // Dice: the mean lies between the fastest and the slowest; the same seed, the same picoseconds.
  LayoutPlay dice;
  dice.workers.jitter = {{FactorDistribution::Kind::lognormal, 0.1}};
  dice.iterations = 5;
  dice.seed = 7;
  const StepOnWires once = asked.on_wires(dice);
  CHECK(once.fastest < once.step.time);
  CHECK(once.step.time < once.slowest);
  CHECK(asked.on_wires(dice).step.time == once.step.time);
  dice.seed = 8;
  CHECK(asked.on_wires(dice).step.time != once.step.time);
}

// What GPUs send is what the formulas of layers, replicas and stages say, layout by layout.
TEST_CASE("steps on wires: bytes of layouts at random") {
  Random random(5);
  Random splits(6);
  int seen = 0;
  for (int round = 0; round < 60'000 && seen < 300; ++round) {
    Transformer model = tiny_model();
    const bool has_experts = random.below(2) == 0;
    if (has_experts) model.experts = Experts{.count = 8, .per_token = 2, .width = 512};
    Layout layout;
    auto power = [&](int most) { return int64_t{1} << random.below(static_cast<uint64_t>(most)); };
    layout.tensor = power(3);
    layout.context = power(2);
    layout.pipeline = power(3);
    layout.replicas = power(3);
    layout.chunks = power(2);
    layout.expert = has_experts ? power(4) : 1;
    layout.micro_batches = power(4);
    layout.zero = static_cast<int>(random.below(4));
    layout.sequence_parallel = layout.tensor > 1 && random.below(2) == 0;
    layout.recompute = recompute_names[random.below(5)].second;
    if (layout.recompute >= Recompute::block) layout.recompute_layers = power(2);
    layout.schedule = pipeline_schedules[random.below(5)].second;
    layout.splits_sends = layout.tensor > 1 && layout.pipeline > 1 && !layout.sequence_parallel &&
                          splits.below(2) == 0;
    if (layout.context > 1) layout.context_by = context_names[random.below(3)].second;
    if (layout.zero > 0) layout.shard_copies = power(3);
    layout.keeps_weights = layout.zero == 3 && random.below(2) == 0;
    if (layout.gpus() > 16 || !misfit_of(model, layout, sequence).empty()) continue;
    ++seen;
    CAPTURE(to_text(layout));
    const Asked asked(model, to_text(layout), one_switch(16));
    const TrainingStep step = asked.step();
    double expected_B = 0;
    const double of_stage = static_cast<double>(layout.gpus() / layout.pipeline);
    const double batches = static_cast<double>(layout.micro_batches);
    for (int64_t stage = 0; stage < layout.pipeline; ++stage) {
      const StageLayers layers = layers_of_stage(model, layout, stage);
      const LayerKind kind{.mlp = has_experts ? Mlp::experts : Mlp::dense};
      const auto of_layers = [&](int64_t count, bool is_recomputed) {
        const LayerTraffic traffic = layer_traffic(step, kind, is_recomputed);
        double sent_B = traffic.tensor_forward_B + traffic.tensor_backward_B +
                        traffic.context_forward_B + traffic.context_backward_B;
        if (has_experts)
          for (const ExpertExchange& one : expert_exchanges(step, 1).all)
            sent_B += (is_recomputed ? 3 : 2) * one.sent_B();
        return static_cast<double>(count) * sent_B;
      };
      const int64_t again = layers.count_again(kind);
      REQUIRE(layers.layers() == layers.count(kind));
      expected_B +=
          of_stage *
          (batches * (of_layers(layers.layers() - again, false) + of_layers(again, true)) +
           data_traffic_B(step, stage));
    }
    // What arrives in parts, each of a group gathers.
    const double t = static_cast<double>(layout.tensor);
    const double gathered_B = activation_B(step) * (t - 1) / t;
    expected_B += of_stage * batches * 2 * static_cast<double>(hops_of(layout)) *
                  (boundary_B(step) + (layout.splits_sends ? gathered_B : 0));
    expected_B += copies_B(step, asked.cluster);
    const StepOnWires played = asked.on_wires();
    REQUIRE(played.wire_B == doctest::Approx(expected_B).epsilon(1e-5));
    // What shares ports, and goes out layer by layer, takes no less time; but an all-to-all pays
    // fewer latencies, and dualpipe hides what it can rather than all of some exchanges.
    const bool posts_at_once =
        layout.expert > 1 || (layout.context > 1 && layout.context_by == ContextBy::ulysses);
    const Asked least(model, to_text(layout),
                      one_switch(16, "100 Gbps", posts_at_once ? "0 us" : "2 us"));
    if (layout.schedule != PipelineSchedule::dualpipe)
      REQUIRE(played.step.time.s() >= least.played().step.time.s() * (1 - 1e-7));
  }
  CHECK(seen == 300);
}

// Two passes at once need the weights of two layers: as many bytes, and the same time but for which
// of two layers is computed first, once for each stage on the way and back.
TEST_CASE("steps on wires: dualpipe whose layers are exchanged") {
  for (const std::string text :
       {"pp2 dp2 ga4 zero2 schedule=dualpipe", "pp2 dp2 ga4 zero3 schedule=dualpipe",
        "pp2 dp4 ga6 zero3 schedule=dualpipe", "pp4 dp2 ga8 zero3 schedule=dualpipe",
        "pp2 dp2 ga4 zero3 reshard=off schedule=dualpipe"}) {
    CAPTURE(text);
    const Layout layout = parse_layout(text, "");
    REQUIRE(misfit_of(tiny_model(), layout, sequence).empty());
    const Asked fast(tiny_model(), text, one_switch(layout.gpus(), "1000 Tbps"));
    const TrainingStep step = fast.step();
    const StepOnWires quick = fast.on_wires();
    double expected_B = 0;
    for (int64_t stage = 0; stage < layout.pipeline; ++stage)
      expected_B += static_cast<double>(layout.replicas) * data_traffic_B(step, stage);
    expected_B += static_cast<double>(layout.replicas * layout.micro_batches * 2) *
                  static_cast<double>(layout.pipeline - 1) * boundary_B(step);
    expected_B += copies_B(step, fast.cluster);
    GroupTimes groups(fast.cluster, layout.gpus());
    CHECK(quick.wire_B == doctest::Approx(expected_B).epsilon(1e-5));
    const LayerTimes layer = layer_times(step, groups, LayerKind{});
    const double turns_s =
        static_cast<double>(2 * layout.pipeline) * (layer.forward.all() + layer.backward.all());
    CHECK(std::abs((quick.step.time - fast.played().step.time).s()) < turns_s);
    // On slow ports all that counts is what each sends, beside which it computes.
    const Asked slow(tiny_model(), text, one_switch(layout.gpus(), "1 Gbps"));
    const double slow_s = slow.on_wires().step.time.s();
    const double sent_s = expected_B / static_cast<double>(layout.gpus()) / 125e6;
    CHECK(slow_s >= sent_s);
    CHECK(slow_s < 1.5 * sent_s + fast.played().step.time.s());  // stages wait for each other
  }
}

TEST_CASE("steps on wires: what is not defined") {
  // By chance no two GPUs are alike.
  LayoutPlay unlike;
  unlike.workers.jitter = {{FactorDistribution::Kind::lognormal, 0.1}};
  const Asked many(tiny_model(), "dp16 ga200000 zero3", one_switch(16));
  CHECK_THROWS_WITH_AS(many.on_wires(unlike), doctest::Contains("more than 20000000 operations"),
                       InputError);
  // Few calls, but of 4,096 members; rings, which have their wires to themselves, go at once.
  const Asked wide(tiny_model(), "dp4096 zero3 ga2", one_switch(4096));
  AlgorithmChoice direct;
  direct.add("direct", "");
  GroupTimes exchanges(wide.cluster, wide.layout.gpus(), direct);
  CHECK_THROWS_WITH_AS(play_on_wires(wide.step(), wide.cluster, exchanges, {}, unlike),
                       doctest::Contains("more than 100 million messages"), InputError);
#ifndef SGDSIM_SANITIZED  // millions of rounds
  CHECK(wide.on_wires(unlike).step.time > wide.on_wires().step.time);
#endif
  CHECK(wide.on_wires().classes == 1);
}

TEST_CASE("sgdsim layout: at fidelity flow") {
  const std::vector<std::string> words = {
      "layout", "llama3.1_8b", "-c", "topologies/data/dgx_h100_4.json", "--fidelity", "flow"};
  auto with = [&](std::vector<std::string> more) {
    more.insert(more.begin(), words.begin(), words.end());
    return run_sgdsim(more);
  };
  const std::vector<std::string> given = {"--layout", "tp2 dp8 pp2 ga4 zero1 sp"};
  auto on_given = [&](std::vector<std::string> more) {
    more.insert(more.begin(), given.begin(), given.end());
    return with(more);
  };
  const Ran ran = on_given({"--format", "json"});
  CAPTURE(ran.log);
  REQUIRE(ran.exit_code == 0);
  const Json json = Json::parse(ran.out);
  CHECK(faults_of_value(embedded_shelf(), "sgdsim/layouts/1", json) == std::vector<std::string>{});
  CHECK(json["fidelity"] == "flow");
  const Json& one = json["layouts"][0];
  double parts = 0;
  for (const auto& [name, part] : one["parts"].items()) parts += part.get<double>();
  CHECK(parts == doctest::Approx(one["step_us"].get<double>()));
  CHECK(one["busiest"].size() > 0);
  CHECK(!one.contains("interval_us"));  // no published step was compared with steps on wires
  CHECK(on_given({}).out.find("communication and waiting") != std::string::npos);
  CHECK(on_given({"--routing", "split", "--format", "json"}).exit_code == 0);
  struct Row {
    std::vector<std::string> more;
    const char* sentence;
  };
  for (const Row& row : std::vector<Row>{
           {{"--gantt", "--format", "json"}, "--gantt: is for people"},
           {{"--routing", "best"}, "--routing: unknown routing \"best\""},
           {{"--seed", "1"}, "--seed: has no effect without random --workers"},
           {{"--transport", "ndp"}, "--transport: has no effect without --fidelity packet"},
           {{"--traffic", R"({"changes": [{"at": "1 us", "vertex": "x", "bandwidth": 0}]})"},
            "--traffic: /changes/0/vertex: unknown vertex \"x\""}}) {
    const Ran refused = on_given(row.more);
    CHECK(refused.exit_code == 2);
    CHECK(refused.log.find(row.sentence) != std::string::npos);
  }
  const Ran route = run_sgdsim({"layout", "llama3.1_8b", "-c", "topologies/data/dgx_h100_4.json",
                                "--layout", "tp8 dp4", "--routing", "split"});
  CHECK(route.exit_code == 2);
  CHECK(route.log.find("--routing: has no effect without --fidelity flow") != std::string::npos);
}

// Nodes of 8 and fewer members: the cards of the node with the fewest carry as much as those of the
// others together. Nine: a lone member's card carries all, 8/9 of gradients in FP32 out and of
// weights in BF16, behind 704 ms of computing.
TEST_CASE("steps on wires: groups that leave nodes by different numbers of cards") {
  struct Row {
    const char* cluster;  // with a card for each GPU, four for eight, and one for eight
    int gpus;
    const char* layout;
    const char* algorithm = "ring";
  };
  const auto step_us = [](const Row& row, const char* fidelity) {
    const Ran ran =
        call_sgdsim({"layout", "llama3.1_8b", "-c", row.cluster, "--gpus", std::to_string(row.gpus),
                     "--layout", std::string(row.layout) + " overlap=off", "--memory", "5000GB",
                     "-a", std::string("allreduce=") + row.algorithm, "--sequence", "8192",
                     "--fidelity", fidelity, "--format", "json"});
    CAPTURE(ran.log);
    REQUIRE(ran.exit_code == 0);
    return Json::parse(ran.out)["layouts"][0]["step_us"].get<double>();
  };
  for (const Row& row :
       {Row{"dgx_h100_4", 9, "dp9 zero1"}, Row{"dgx_h100_4", 15, "dp15 zero1"},
        Row{"dgx_h100_4", 12, "tp4 dp3 zero1"}, Row{"dgx_h100_4", 18, "tp2 dp9 zero1"},
        Row{"dgx_h100_4", 24, "dp24 zero1"}, Row{"dgx_h100_4", 33, "dp33 zero1"},
        Row{"dgx_h100_4", 12, "dp12 zero0", "hierarchical"}, Row{"aws_p4d_2", 9, "dp9 zero1"},
        Row{"cloud_v100_25gbe", 9, "dp9 zero1"}, Row{"cloud_v100_25gbe", 12, "dp12 zero1"},
        Row{"cloud_v100_25gbe", 36, "tp4 dp9 zero1 sp"}}) {
    CAPTURE(row.cluster);
    CAPTURE(row.layout);
    const double formula = step_us(row, "closed_form");
    CHECK(step_us(row, "message") == doctest::Approx(formula).epsilon(1e-6));
    CHECK(step_us(row, "flow") == doctest::Approx(formula).epsilon(0.01));
  }
  const double on_one_card_us = 8. / 9 * 8.03e9 * (4 + 2) / 45e9 * 1e6;
  CHECK(step_us({"dgx_h100_4", 9, "dp9 zero1"}, "closed_form") >= 704'000 + on_one_card_us);
}

}  // namespace sgdsim
