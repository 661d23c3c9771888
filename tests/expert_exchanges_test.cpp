// Tokens that go to their experts by nodes: how many nodes and GPUs a token visits, what crosses
// and what stays inside, in formulas and on wires, and against what was measured of such programs.
#include "models/training/expert_exchanges.h"

#include <bit>
#include <doctest/doctest.h>

#include "models/training/hybrid_step.h"
#include "models/training/link_load.h"
#include "models/training/near_layouts.h"
#include "models/training/step_on_wires.h"
#include "models/training/transformer_file.h"
#include "sim/core/error.h"
#include "sim/core/refusal.h"
#include "study/layout/layout_files.h"
#include "tests/cluster_cases.h"
#include "tests/run_program.h"
#include "tests/training_cases.h"

namespace sgdsim {
namespace {

// Every choice of groups, and of experts in them, once.
double counted_parts(const Experts& experts, int64_t parts) {
  const int64_t of_group = experts.count / experts.groups;
  double visits = 0;
  double choices = 0;
  for (uint32_t groups = 0; groups < (1U << experts.groups); ++groups) {
    if (std::popcount(groups) != experts.groups_taken) continue;
    for (uint32_t taken = 0; taken < (1U << experts.count); ++taken) {
      if (std::popcount(taken) != experts.per_token) continue;
      uint32_t seen = 0;
      bool is_one = true;
      for (int64_t i = 0; i < experts.count; ++i) {
        if ((taken >> i & 1U) == 0) continue;
        is_one = is_one && (groups >> (i / of_group) & 1U) != 0;
        seen |= 1U << (i / (experts.count / parts));
      }
      if (!is_one) continue;
      choices += 1;
      visits += std::popcount(seen);
    }
  }
  return visits / choices;
}

// Two nodes of two GPUs: 1 GB/s inside, 0.1 GB/s across, and no latencies.
Cluster two_boxes(int nodes = 2, int per_node = 2) {
  return cluster_from(R"({"schema": "sgdsim/cluster/1", "name": "boxes", "shape": "nvlink_box",
      "nodes": )" + std::to_string(nodes) +
                      R"(, "gpus_per_node": )" + std::to_string(per_node) +
                      R"(, "nics_per_node": )" + std::to_string(per_node) +
                      R"(, "gpu_link": {"latency": "0 us", "bandwidth": "1 GBps"},
      "nic": {"latency": "0 us", "bandwidth": "800 Mbps"}})")
      .cluster;
}

Transformer with_experts(const Experts& experts) {
  Transformer model = small_model();
  model.experts = experts;
  return model;
}

constexpr int64_t expert_sequence = 2048;

}  // namespace

TEST_CASE("experts by nodes: parts that a token visits, counted choice by choice") {
  for (const Experts& experts :
       {Experts{.count = 8, .per_token = 2}, Experts{.count = 8, .per_token = 1},
        Experts{.count = 8, .per_token = 8},
        Experts{.count = 8, .per_token = 3, .groups = 4, .groups_taken = 2},
        Experts{.count = 12, .per_token = 4, .groups = 4, .groups_taken = 2},
        Experts{.count = 12, .per_token = 2, .groups = 3, .groups_taken = 1},
        Experts{.count = 12, .per_token = 5, .groups = 6, .groups_taken = 4},
        Experts{.count = 12, .per_token = 3, .groups = 2, .groups_taken = 2}})
    for (int64_t parts = 1; parts <= experts.count; ++parts) {
      if (experts.count % parts != 0) continue;
      CAPTURE(experts.count);
      CAPTURE(experts.per_token);
      CAPTURE(experts.groups);
      CAPTURE(parts);
      CHECK(visited_parts(experts, parts) ==
            doctest::Approx(counted_parts(experts, parts)).epsilon(1e-12));
    }
}

// DeepSeek-V3: 8 of 256 experts, from four of eight groups. With a node for each group a token is
// on four of them, but for the few that have none of a group: 4 (1 - C(96,8)/C(128,8)).
TEST_CASE("experts by nodes: DeepSeek-V3 on eight nodes") {
  const Experts experts = *load_model("deepseek_v3").experts;
  double none = 1;
  for (int i = 0; i < 8; ++i) none *= (96.0 - i) / (128.0 - i);
  CHECK(visited_parts(experts, 8) == doctest::Approx(4 * (1 - none)));
  CHECK(visited_parts(experts, 1) == doctest::Approx(1));
  CHECK(visited_parts(experts, 256) == doctest::Approx(8));
  Experts free = experts;
  free.groups = free.groups_taken = 1;
  CHECK(visited_parts(free, 8) > 5);
  // As many groups as there are restrict nothing.
  free.groups = free.groups_taken = 8;
  Experts any = experts;
  any.groups = any.groups_taken = 1;
  CHECK(visited_parts(free, 32) == doctest::Approx(visited_parts(any, 32)));
}

// Four experts on two nodes of two GPUs, of which a token visits two. It is on a node with chance
// 1 - 1/C(4,2) = 5/6, and on a GPU with 1/2: 5/3 nodes, half of what leaves a card, and two GPUs,
// half of it over NVLink. 2,048 tokens of 1,024 values in BF16 are 4,194,304 B.
TEST_CASE("experts by nodes: bytes and times as drawn") {
  const Transformer model = with_experts({.count = 4, .per_token = 2, .width = 512});
  const Layout layout = parse_layout("dp4 ep4 dispatch=node", "");
  REQUIRE(misfit_of(model, layout, expert_sequence) == "");
  const Gpu gpu = undisturbed("h100");
  const TrainingStep step{model, layout, expert_sequence, gpu, Precision::bf16};
  constexpr double token_B = 2048.0 * 1024 * 2;
  const auto [across, inside] = expert_exchanges(step, 2).all;
  CHECK(across.out_B == doctest::Approx(5.0 / 3 * token_B));
  CHECK(across.sent_B() == doctest::Approx(2 * 5.0 / 6 * token_B));
  CHECK(inside.out_B == doctest::Approx(2 * token_B));
  CHECK(inside.sent_B() == doctest::Approx(2 * token_B));
  const Cluster cluster = two_boxes();
  GroupTimes groups(cluster, 4);
  const LayerTimes times = layer_times(step, groups, {.mlp = Mlp::experts});
  // The cards take 5/6 of the tokens at 0.1 GB/s, which is longer than all of them at 1 GB/s.
  CHECK(times.forward.expert == doctest::Approx(2 * 5.0 / 6 * token_B / 0.1e9));
  CHECK(times.backward.expert == doctest::Approx(times.forward.expert));
  // Directly, each of the two visits goes to a GPU of the other node with chance 1/2.
  const Layout direct = parse_layout("dp4 ep4", "");
  const LayerTimes all = layer_times({model, direct, expert_sequence, gpu, Precision::bf16}, groups,
                                     {.mlp = Mlp::experts});
  CHECK(all.forward.expert == doctest::Approx(2 * token_B / 0.1e9));
  // In FP8 what goes out has a scale for 128 values, and comes back in BF16.
  const auto in_fp8 =
      expert_exchanges({model, layout, expert_sequence, gpu, Precision::fp8}, 2).all[0];
  CHECK(in_fp8.out_B == doctest::Approx(across.out_B * (1 + 4.0 / 128) / 2));
  CHECK(in_fp8.back_B == doctest::Approx(across.back_B));
}

// Split experts: every rank that has a part of one gets its tokens, at once.
TEST_CASE("experts by nodes: experts that are split") {
  const Transformer model = with_experts({.count = 4, .per_token = 2, .width = 512});
  const Gpu gpu = undisturbed("h100");
  constexpr double token_B = 2048.0 * 1024 * 2;
  const auto of = [&](const std::string& text, int64_t per_node) {
    const Layout layout = parse_layout(text, "");
    REQUIRE(misfit_of(model, layout, expert_sequence) == "");
    return expert_exchanges({model, layout, expert_sequence, gpu, Precision::bf16}, per_node).all;
  };
  // A node has two of four experts, in halves: as with ep4 on nodes of two.
  CHECK(of("dp8 ep4 etp2 dispatch=node", 4)[0].out_B == doctest::Approx(5.0 / 3 * token_B));
  CHECK(of("dp8 ep4 etp2 dispatch=node", 4)[1].out_B == doctest::Approx(2 * 2 * token_B));
  // An expert is on two nodes.
  CHECK(of("dp16 ep4 etp4 dispatch=node", 2)[0].out_B == doctest::Approx(2 * 2 * token_B));
  // All on one node: nothing crosses.
  const auto one = of("dp4 ep4 dispatch=node", 8);
  CHECK(one[0].sent_B() == 0);
  CHECK(one[1].sent_B() == doctest::Approx(2 * 2 * 3.0 / 4 * token_B));
}

TEST_CASE("experts by nodes: messages carry the bytes of the formulas, in no other time") {
  const Gpu gpu = undisturbed("h100");
  for (const std::string text :
       {"dp4 ep4 dispatch=node", "dp8 ep4 ga2 dispatch=node zero1", "dp8 ep8 zero3 dispatch=node",
        "tp2 sp dp4 ep8 dispatch=node", "pp2 dp4 ep4 ga2 dispatch=node",
        "dp8 ep4 etp2 dispatch=node", "pp2 dp4 ep4 ga4 dispatch=node schedule=dualpipe",
        "dp2 ep2 dispatch=node"}) {
    CAPTURE(text);
    Transformer model = with_experts({.count = 8, .per_token = 3, .width = 512});
    model.layers = 2;
    model.kv_heads = model.heads;
    model.vocabulary = 1;
    const Layout layout = parse_layout(text, "");
    REQUIRE(misfit_of(model, layout, expert_sequence) == "");
    const int nodes = static_cast<int>(layout.gpus() / 2);
    const Cluster cluster = two_boxes(nodes, 2);
    const TrainingStep step{model, layout, expert_sequence, gpu, Precision::bf16};
    GroupTimes groups(cluster, layout.gpus());
    const StepOnWires played = play_on_wires(step, cluster, groups, {}, {});
    Layout same = layout;
    same.dispatch = Dispatch::direct;
    const TrainingStep other{model, same, expert_sequence, gpu, Precision::bf16};
    const StepOnWires direct = play_on_wires(other, cluster, groups, {}, {});
    const auto sent_B = [&](const TrainingStep& of) {
      double all = 0;
      for (const ExpertExchange& one : expert_exchanges(of, 2).all) all += 2 * one.sent_B();
      return all;
    };
    // Everything else is as it was.
    const double passes = static_cast<double>(layout.tensor * layout.context * layout.replicas *
                                              layout.micro_batches * model.layers);
    CHECK(played.wire_B - direct.wire_B ==
          doctest::Approx(passes * (sent_B(step) - sent_B(other))).epsilon(1e-5));
    if (layout.pipeline > 1) continue;
    CHECK(played.step.time.s() ==
          doctest::Approx(step_on_links(step, groups).time.s()).epsilon(0.02));
  }
}

// HybridEP on H100, of repository deepseek-ai/DeepEP (MIT), Hybrid-EP_Implementation.md: 4,096
// tokens of 7,168 values in BF16, 8 of 8 experts a GPU by chance, kernels alone, the best of the
// numbers of SMs. Bytes count once for each node of a token, its own among them.
TEST_CASE("experts by nodes: against what HybridEP was measured at") {
  Transformer model = load_model("deepseek_v3");
  const Gpu gpu = undisturbed("h100");
  const Cluster cluster =
      cluster_from(R"({"schema": "sgdsim/cluster/1", "name": "h100", "shape": "nvlink_box",
          "nodes": 8, "gpus_per_node": 8, "nics_per_node": 8,
          "gpu_link": {"latency": "0.3 us", "bandwidth": "450 GBps", "efficiency": 0.65},
          "nic": {"latency": "1.35 us", "bandwidth": "400 Gbps", "efficiency": 0.9}})")
          .cluster;
  GroupTimes groups(cluster, 64);
  struct Row {
    int64_t ranks;
    double dispatch_GBps;
    double combine_GBps;
    double within;
  };
  // Of two nodes half of the tokens stay, and the kernels no longer wait for the cards alone.
  for (const Row& row :
       {Row{16, 76.80, 68.00, 0.35}, Row{32, 57.69, 57.46, 0.06}, Row{64, 50.55, 51.03, 0.03}}) {
    CAPTURE(row.ranks);
    model.experts = Experts{.count = 8 * row.ranks, .per_token = 8, .width = 2048};
    Layout layout = parse_layout("dp64 dispatch=node", "");
    layout.expert = row.ranks;
    const TrainingStep step{model, layout, 4096, gpu, Precision::bf16};
    const auto [across, inside] = expert_exchanges(step, 8).all;
    const double seconds = std::max(groups.seconds(across.out, across.group, across.out_B),
                                    groups.seconds(inside.out, inside.group, inside.out_B));
    const double GBps = across.out_B / seconds * 1e-9;
    CHECK(GBps / row.dispatch_GBps == doctest::Approx(1).epsilon(row.within));
    CHECK(GBps / row.combine_GBps == doctest::Approx(1).epsilon(row.within));
  }
}

TEST_CASE("experts by nodes: the word of a layout") {
  const Transformer mixture = load_model("deepseek_v3");
  CHECK(to_text(parse_layout("dp8 ep8 dispatch=node", "")) == "ep8 dp8 zero0 dispatch=node");
  CHECK(to_text(parse_layout("dp8 ep8 dispatch=direct", "")) == "ep8 dp8 zero0");
  const Json written = to_json(parse_layout("dp8 ep8 dispatch=node", ""));
  CHECK(read_layout(Value(written, "layout", "")).dispatch == Dispatch::node);
  CHECK_THROWS_WITH_AS(parse_layout("dp8 dispatch=deepep", "x"), doctest::Contains("direct, node"),
                       InputError);
  CHECK(misfit_of(load_model("llama3.1_8b"), parse_layout("dp8 dispatch=node", ""), 4096) ==
        "the model has no experts to go to by dispatch=node; leave it out");
  CHECK(misfit_of(mixture, parse_layout("dp8 dispatch=node stages=even", ""), 4096) ==
        "dispatch=node has no effect with ep1; leave it out");
  // Twelve of sixteen GPUs are one node and a half.
  const Gpu gpu = undisturbed("h100");
  const Layout uneven = parse_layout("dp24 ep12 dispatch=node", "");
  Transformer model = with_experts({.count = 24, .per_token = 2, .width = 512});
  CHECK_THROWS_WITH_AS(expert_exchanges({model, uneven, 2048, gpu, Precision::bf16}, 8),
                       doctest::Contains("ep x etp = 12 does not go into nodes of 8; say "
                                         "dispatch=direct, or ep4"),
                       UnfitGroup);
  // All of them in one node fit, however many it has.
  const Layout rack = parse_layout("dp24 ep12 dispatch=node", "");
  const auto [across, inside] = expert_exchanges({model, rack, 2048, gpu, Precision::bf16}, 72).all;
  CHECK(across.sent_B() == 0);
  CHECK(inside.group.size == 12);
}

TEST_CASE("experts by nodes: in a search, beside a layout, and asked of the program") {
  const auto ask = [](std::vector<std::string> more) {
    std::vector<std::string> words = {"layout",   "mixtral_8x7b", "--cluster",      "400gbe_2x8",
                                      "--set",    "nodes=4",      "--gpu",          "h100",
                                      "--gpus",   "32",           "--global-batch", "256",
                                      "--memory", "80GB",         "--format",       "json"};
    words.insert(words.end(), more.begin(), more.end());
    const Ran ran = call_sgdsim(words);
    REQUIRE(ran.exit_code == 0);
    return ran.out;
  };
  // With ep1 the word means nothing, and such layouts stay in the search.
  const std::string all = ask({"--with", "dispatch=node"});
  CHECK(all.find("dispatch=node") != std::string::npos);
  CHECK(all.find("ep1") == std::string::npos);
  const Json plain = Json::parse(ask({}));
  CHECK(Json::parse(all)["candidates"] == plain["candidates"]);
  CHECK(ask({"--with", "recompute=modules:moe_act"}).find("recompute=modules:moe_act") !=
        std::string::npos);
  CHECK(call_sgdsim({"layout", "llama3.1_8b", "--cluster", "400gbe_2x8", "--with",
                     "dispatch=node experts=beside"})
            .log.find("the model has no experts") != std::string::npos);
  CHECK(ask({"--near", "pp2 cp2 ep8 dp8 mbs1 ga32 zero1"}).find("dispatch=node") !=
        std::string::npos);
}

TEST_CASE("experts by nodes: groups of experts in a model file") {
  const auto load = [](const std::string& groups) {
    Json model = to_json(load_model("deepseek_v3"));
    model["experts"].update(Json::parse(groups));
    return read_transformer(Value(model, "model", ""));
  };
  CHECK(load(R"({"groups": 8, "groups_taken": 4})").experts->groups_taken == 4);
  CHECK_THROWS_WITH_AS(load(R"({"groups": 7})"), doctest::Contains("do not divide by 7 groups"),
                       InputError);
  CHECK_THROWS_WITH_AS(load(R"({"groups": 4, "groups_taken": 5})"),
                       doctest::Contains("in 5 of 4 groups"), InputError);
  CHECK_THROWS_WITH_AS(load(R"({"groups": 256, "groups_taken": 4})"),
                       doctest::Contains("expected more groups_taken"), InputError);
}

}  // namespace sgdsim
