// The closed form of a training step: bubbles of every schedule, bytes of every collective, one GPU
// against its roofline, and groups of ranks on a cluster drawn by hand.
#include "models/training/hybrid_step.h"

#include <doctest/doctest.h>

#include "models/training/expert_exchanges.h"
#include "models/training/link_load.h"
#include "models/training/memory.h"
#include "models/training/played_step.h"
#include "models/training/step_on_wires.h"
#include "models/training/transformer_file.h"
#include "sim/core/random.h"
#include "study/layout/layout_files.h"
#include "tests/cluster_cases.h"
#include "tests/training_cases.h"

namespace sgdsim {
namespace {

Cluster boxes(int nodes) {
  const std::string text = R"({"shape": "nvlink_box", "nodes": )" + std::to_string(nodes) +
                           R"(, "gpus_per_node": 4, "nics_per_node": 4,
      "gpu_link": {"latency": "1 us", "bandwidth": "100 GBps"},
      "nic": {"latency": "3 us", "bandwidth": "10 GBps"}})";
  return read_cluster(Document::parse(text, "boxes.json").root()).cluster;
}

TEST_CASE("closed form: adding gradients apart, the cost of a layer, and sends in parts, by hand") {
  Transformer model = small_model();
  Gpu gpu = load_gpu("h100");
  gpu.memory_rate = Bandwidth::Bps(1e12);
  gpu.memory_part = 0.5;
  gpu.bf16_flops = 1e9;  // so that no product waits for its matrices
  const Cluster cluster = boxes(2);
  GroupTimes groups(cluster, 8);
  const auto times_of = [&](const char* text) {
    const Layout layout = parse_layout(text, "");
    REQUIRE(misfit_of(model, layout, 2048).empty());
    return layer_times({model, layout, 2048, gpu, Precision::bf16}, groups, {});
  };
  // Matrices of 1024 x (1024 + 2 x 256 + 1024) and 3 x 1024 x 4096 by two ranks, and two norms of
  // 1024 on each; 2 bytes of the new gradient, and twice 4 or 2 of the kept one, at 500 GB/s.
  const double parameters = 1024 * (2560 + 3 * 4096) / 2.0 + 2048;
  const PassTimes forward = times_of("tp2").forward;
  const PassTimes fused = times_of("tp2").backward;
  CHECK(times_of("tp2 accumulate=apart").backward.all() - fused.all() ==
        doctest::Approx(parameters * 10 / 5e11));
  CHECK(times_of("tp2 accumulate=apart gradients=bf16").backward.all() - fused.all() ==
        doctest::Approx(parameters * 6 / 5e11));
  CHECK(times_of("tp2 accumulate=apart").forward.all() == forward.all());
  gpu.layer = Duration::us(50);
  CHECK(times_of("tp2").forward.all() - forward.all() == doctest::Approx(50e-6));
  CHECK(times_of("tp2").backward.all() - fused.all() == doctest::Approx(50e-6));
  // 4 MiB: each of four ranks sends a quarter, and gathers the whole in three steps of a quarter.
  const Layout whole = parse_layout("tp4 pp2 ga4", "");
  const Layout split = parse_layout("tp4 pp2 ga4 sends=split", "");
  const HybridStep sent_whole = hybrid_step({model, whole, 2048, gpu, Precision::bf16}, groups);
  const HybridStep sent_split = hybrid_step({model, split, 2048, gpu, Precision::bf16}, groups);
  const double quarter_B = 1024 * 1024;
  CHECK(sent_whole.send_s == doctest::Approx(8e-6 + 4 * quarter_B / 1e10));
  CHECK(sent_split.send_s == doctest::Approx(8e-6 + quarter_B / 1e10));
  const double gather_s = 3 * (2e-6 + quarter_B / 1e11);
  // The first stage gathers gradients, the last one activations.
  CHECK(sent_split.forward_s - sent_whole.forward_s == doctest::Approx(gather_s));
  CHECK(sent_split.backward_s == doctest::Approx(sent_whole.backward_s));
}

TEST_CASE("closed form: operations that are kernels of their own, or done again, by hand") {
  Transformer model = small_model();
  Gpu gpu;  // half of 100 TFLOP/s at every size
  gpu.bf16_flops = 1e14;
  gpu.gemm = {{1e-6, 0.5}};
  gpu.start_gflop = 0;
  gpu.memory_rate = Bandwidth::Bps(1e15);  // so that no product waits for its matrices
  gpu.memory_part = 0.5;
  gpu.any_attention.forward = 0.5;
  gpu.any_attention.backward = 0.5;
  gpu.kernel = Duration::us(1);
  const Cluster cluster = free_cluster(1);
  GroupTimes groups(cluster, 1);
  const auto times_of = [&](const char* text) {
    const Layout layout = parse_layout(text, "");
    REQUIRE(misfit_of(model, layout, 2048).empty());
    return layer_times({model, layout, 2048, gpu, Precision::bf16}, groups, {});
  };
  // 2,048 tokens; 1,024 values for queries and for what comes out, 256 for keys and for values, and
  // 4,096 in the MLP. Norms 36, sums 6, rotation 20, repeated keys and values, heads, 4 + 6 of the
  // MLP; 25 kernels.
  const double bytes = 2048.0 * (2 * (36 + 6) * 1024 + 20 * (1024 + 256) + 2 * 512 + 4 * 1024 +
                                 4 * 1024 + 10 * 4096);
  const LayerTimes eager = times_of("mbs1 kernels=eager");
  CHECK(eager.forward.element_wise == doctest::Approx(bytes / 5e14 + 25e-6));
  CHECK(eager.backward.element_wise == doctest::Approx(2 * bytes / 5e14 + 25e-6));
  // Done again: keys, what attention hands on, and the second matrix of the MLP.
  const double flop = 2 * 2048.0 * 1024 * (256 + 1024 + 4096);
  const LayerTimes none = times_of("mbs1");
  const LayerTimes again = times_of("mbs1 recompute=operations");
  CHECK(again.forward.all() == none.forward.all());
  CHECK(again.backward.products - none.backward.products == doctest::Approx(flop / 5e13));
  CHECK(again.backward.element_wise ==
        doctest::Approx(none.backward.element_wise + none.forward.element_wise));
  CHECK(again.backward.attention == none.backward.attention);
  // Kept: the input, queries, values, what attention gives, the first matrix, and the output.
  const Layout layout = parse_layout("mbs1 recompute=operations", "");
  CHECK(layer_activations_B(model, layout, 2048, {}) ==
        2 * 2048 * (1024 + 1024 + 256 + 1024 + 4096 + 1024));
  // GPT: LayerNorm is one kernel, dropout another; nothing is rotated or repeated; one matrix less.
  model.norm = Norm::layer;
  model.dropout = true;
  model.positions = 2048;
  model.kv_heads = 16;
  model.gated = false;
  const double of_gpt = 2048.0 * (2 * (4 + 6 + 5) * 1024 + 4 * 1024 + 4 * 4096);
  CHECK(times_of("mbs1 kernels=eager").forward.element_wise ==
        doctest::Approx(of_gpt / 5e14 + 25e-6));
  // The loss: 6 + 16 and 4 + 16 + 6 bytes a logit, and four kernels.
  const TrainingStep step{model, parse_layout("kernels=eager", ""), 2048, gpu, Precision::bf16};
  const LayerTimes head = head_times(step);
  CHECK(head.forward.element_wise == doctest::Approx(22 * 2048 * 32000.0 / 5e14 + 4e-6));
  CHECK(head.backward.element_wise == doctest::Approx(26 * 2048 * 32000.0 / 5e14 + 4e-6));
  // Where layers are compiled, the loss stays as it is; a GPT has nothing else that does.
  const Layout compiled = parse_layout("kernels=compiled", "");
  const TrainingStep other{model, compiled, 2048, gpu, Precision::bf16};
  CHECK(head_times(other).backward.all() == head.backward.all());
  CHECK(layer_times(other, groups, {}).backward.all() == times_of("mbs1").backward.all());
}

TEST_CASE("closed form: what PyTorch's compiler leaves in a Llama, by hand") {
  Transformer model = small_model();
  Gpu gpu = load_gpu("h100");
  gpu.memory_rate = Bandwidth::Bps(1e15);
  gpu.memory_part = 0.5;
  gpu.kernel = Duration::us(1);
  const Cluster cluster = free_cluster(1);
  GroupTimes groups(cluster, 1);
  const auto times_of = [&](const char* text) {
    return layer_times({model, parse_layout(text, ""), 2048, gpu, Precision::bf16}, groups, {});
  };
  // 1,024 values for queries, 256 for keys and 256 for values. Rotated in 6 + 8 + 6 bytes, where
  // one kernel reads and writes 4, and 8 for gradients. Keys and values are written as 1,024 each.
  const double repeated = 2.0 * (2 * 1024 - 256 - 256);
  LayerTimes fused = times_of("mbs1");
  LayerTimes compiled = times_of("mbs1 kernels=compiled");
  CHECK(compiled.forward.element_wise - fused.forward.element_wise ==
        doctest::Approx(2048 * (16.0 * (1024 + 256) + repeated) / 5e14 + 3e-6));
  CHECK(compiled.backward.element_wise - fused.backward.element_wise ==
        doctest::Approx(2048 * (12.0 * (1024 + 256) + repeated) / 5e14 + 3e-6));
  CHECK(compiled.forward.products == fused.forward.products);
  CHECK(compiled.forward.attention == fused.forward.attention);
  // As many keys as queries are not repeated, and learned positions not rotated.
  model.kv_heads = model.heads;
  fused = times_of("mbs1");
  compiled = times_of("mbs1 kernels=compiled");
  CHECK(compiled.forward.element_wise - fused.forward.element_wise ==
        doctest::Approx(2048 * 16.0 * (1024 + 1024) / 5e14 + 3e-6));
  model.positions = 2048;
  CHECK(times_of("mbs1 kernels=compiled").forward.all() == times_of("mbs1").forward.all());
  // Of latent attention 64 values of each head, and of one key, are rotated.
  model = load_model("deepseek_v3");
  fused = times_of("mbs1");
  compiled = times_of("mbs1 kernels=compiled");
  CHECK(compiled.forward.element_wise - fused.forward.element_wise ==
        doctest::Approx(2048 * 16.0 * 64 * (128 + 1) / 5e14 + 3e-6));
}

TEST_CASE("closed form: what does not overlap is one exchange") {
  const Transformer model = small_model();
  const Gpu gpu = load_gpu("h100");
  const Cluster cluster = boxes(4);
  GroupTimes groups(cluster, 4);
  const Layout layout = parse_layout("dp4 gradients=bf16 overlap=off", "");
  const HybridStep step = hybrid_step({model, layout, 2048, gpu, Precision::bf16}, groups);
  const double gradients_B = 2 * rank_parameters(model, layout, 0).all();
  CHECK(step.parts.data == doctest::Approx(6 * (2e-6 + gradients_B / 4 / 1e11)));
}

// Both a quarter slower while both go on: what was hidden still is, and takes a quarter of itself
// more. With products alone slower, an hour of exchange under them costs a fifth of it.
TEST_CASE("closed form: passes and exchanges slow each other down") {
  const Transformer model = small_model();
  Gpu gpu = load_gpu("h100");
  Layout layout;
  layout.replicas = 8;
  layout.micro_batches = 4;
  for (const int zero : {0, 1, 2, 3}) {
    CAPTURE(zero);
    layout.zero = zero;
    const Cluster cluster = boxes(2);
    GroupTimes groups(cluster, 8);
    gpu.interference = {};
    const HybridStep alone = hybrid_step({model, layout, 2048, gpu, Precision::bf16}, groups);
    REQUIRE(alone.hidden.data > 0);
    gpu.interference = {{Beside::copy_engines, 9, 9}, {Beside::nccl, 1.25, 1.25}};
    const HybridStep both = hybrid_step({model, layout, 2048, gpu, Precision::bf16}, groups);
    CHECK(both.hidden.data == alone.hidden.data);
    CHECK(both.time.s() == doctest::Approx(alone.time.s() + 0.25 * alone.hidden.data));
    CHECK(both.parts.data == alone.parts.data);
    gpu.interference = {{Beside::multiprocessors, 1.25, 1}};
    const HybridStep products = hybrid_step({model, layout, 2048, gpu, Precision::bf16}, groups);
    CHECK(products.hidden.data >= alone.hidden.data);
    CHECK(products.time.s() == doctest::Approx(alone.time.s() + alone.hidden.data -
                                               products.hidden.data + 0.2 * products.hidden.data));
    gpu.interference = {{Beside::nccl, 1, 1e2}};  // hardly anything goes on under products
    const HybridStep exchange = hybrid_step({model, layout, 2048, gpu, Precision::bf16}, groups);
    CHECK(exchange.slowness == 1);
    CHECK(exchange.hidden.data < 0.05 * alone.hidden.data + 1e-6);
  }
}

// An activation of 4 MiB at 100 GB/s inside a box: a rank sends it on, and its gradient back, to
// all ranks but those that do not follow, or are itself. A ring through two boxes leaves each of
// them by four cards of 10 GB/s, by which a quarter goes, and three quarters stay inside.
TEST_CASE("closed form: what links carry, by hand") {
  const Transformer model = small_model();
  const Gpu gpu = undisturbed("h100");
  const auto load = [&](const char* text, int64_t stage) {
    const Layout layout = parse_layout(text, "");
    const Cluster cluster = boxes(static_cast<int>(layout.gpus() / 4));
    GroupTimes groups(cluster, layout.gpus());
    return link_load({model, layout, 2048, gpu, Precision::bf16}, groups, stage);
  };
  const double send_s = 2. * 2048 * 1024 / 1e11;
  for (const auto& row : std::vector<std::pair<const char*, std::array<int, 4>>>{
           {"pp4 ga8", {8, 16, 16, 8}},
           {"pp4 vp2 ga8", {24, 32, 32, 24}},
           {"pp4 vp2 ga8 schedule=zbv", {16, 32, 32, 16}},
           {"pp4 ga8 schedule=dualpipe", {8, 16, 16, 8}}})
    for (int64_t stage = 0; stage < 4; ++stage) {
      CAPTURE(std::string(row.first));
      CAPTURE(stage);
      const double sent = row.second[static_cast<std::size_t>(stage)];
      CHECK(load(row.first, stage).inside_s == doctest::Approx(sent * send_s));
      CHECK(load(row.first, stage).across_s == 0);
    }
  const double shared_B =
      6 * rank_parameters(model, parse_layout("dp8 zero1", ""), 0).all() * 7 / 8;
  CHECK(load("dp8 zero1", 0).inside_s == doctest::Approx(shared_B * 3 / 4 / 1e11));
  CHECK(load("dp8 zero1", 0).across_s == doctest::Approx(shared_B / 4 / 1e10));
}

// Keys and values lie under attention, weights and gradients under whole passes: each would fit
// there, but both take the same card. So does the closed form's step wait for it, and no other does
// better.
TEST_CASE("closed form: no step is shorter than its busiest link carries bytes") {
  Transformer model = small_model();
  model.layers = 4;
  model.kv_heads = model.heads;
  const Gpu gpu = undisturbed("h100");
  int waited = 0;
  for (const std::string text : {"cp2 dp2 zero3", "cp4 dp2 zero3 ga2", "cp2 dp4 zero2 ga2"}) {
    const Layout layout = parse_layout(text, "");
    for (const char* bandwidth : {"400 Gbps", "40 Gbps", "20 Gbps", "10 Gbps", "5 Gbps"}) {
      CAPTURE(text);
      CAPTURE(std::string(bandwidth));
      const Cluster cluster = one_switch(layout.gpus(), bandwidth);
      GroupTimes groups(cluster, layout.gpus());
      const TrainingStep step{model, layout, 2048, gpu, Precision::bf16};
      const HybridStep closed = step_on_links(step, groups);
      const double busy_s = link_load(step, groups, 0).across_s;
      CHECK(closed.time.s() >= busy_s - 1e-12);
      CHECK(play_on_links(step, groups).step.time.s() >= busy_s - 1e-12);
      CHECK(play_on_wires(step, cluster, groups, {}).step.time.s() >= busy_s * (1 - 1e-7));
      if (closed.parts.communication == 0) continue;
      ++waited;
      CHECK(closed.time.s() == doctest::Approx(busy_s).epsilon(1e-9));
    }
  }
  CHECK(waited > 0);
}

TEST_CASE("closed form: one GPU is its roofline") {
  const Transformer model = small_model();
  Gpu gpu;  // half of 100 TFLOP/s at every size, memory and kernels free
  gpu.bf16_flops = 1e14;
  gpu.memory_rate = Bandwidth::Bps(1e30);
  gpu.gemm = {{1e-6, 0.5}};
  gpu.start_gflop = 0;
  gpu.any_attention.forward = 0.5;
  gpu.any_attention.backward = 0.5;
  const Cluster cluster = free_cluster(1);
  GroupTimes groups(cluster, 1);
  const Layout layout = parse_layout("mbs2 ga4", "");
  const HybridStep step = hybrid_step({model, layout, 2048, gpu, Precision::bf16}, groups);
  // Products three times their forward FLOP; attention forward and 2.5 times that backward.
  const double core = 48 * attention_core_flop(model, Mixing::full, 2048, FlopConvention::halved);
  const double products = sequence_flop(model, 2048, FlopConvention::halved) - 3 * core;
  CHECK(step.parts.products == doctest::Approx(8 * products / 5e13).epsilon(1e-9));
  CHECK(step.parts.attention == doctest::Approx(8 * 3.5 * core / 5e13).epsilon(1e-9));
  CHECK(step.parts.all() == doctest::Approx(8 * (products + 3.5 * core) / 5e13).epsilon(1e-9));
  // Attention backward is 2.5 products, of which the convention counts two.
  CHECK(step.mfu ==
        doctest::Approx(0.5 * (products + 3 * core) / (products + 3.5 * core)).epsilon(1e-9));
}

TEST_CASE("closed form: bytes of every collective, for layouts at random") {
  const Gpu gpu = load_gpu("h100");
  Random random(7);
  int seen = 0;
  for (int round = 0; round < 20000 && seen < 300; ++round) {
    Transformer model = small_model();
    const bool has_experts = random.below(2) == 0;
    if (has_experts)
      model.experts = Experts{.count = 16,
                              .per_token = 2,
                              .width = 512,
                              .shared = static_cast<int64_t>(random.below(2))};
    Layout layout;
    auto power = [&](int most) { return int64_t{1} << random.below(static_cast<uint64_t>(most)); };
    layout.tensor = power(3);
    layout.context = power(3);
    layout.pipeline = power(4);
    layout.replicas = power(4);
    layout.expert = has_experts ? power(4) : 1;
    layout.micro_batch = power(3);
    layout.micro_batches = 8;
    layout.zero = static_cast<int>(random.below(4));
    layout.sequence_parallel = layout.tensor > 1 && random.below(2) == 0;
    layout.half_gradients = random.below(2) == 0;
    layout.recompute = random.below(2) == 0 ? Recompute::full : Recompute::none;
    if (layout.context > 1) layout.context_by = context_names[random.below(3)].second;
    if (layout.zero > 0) layout.shard_copies = power(3);
    layout.keeps_weights = layout.zero == 3 && random.below(2) == 0;
    if (!misfit_of(model, layout, 2048).empty()) continue;
    ++seen;
    const TrainingStep step{model, layout, 2048, gpu, Precision::bf16};
    const LayerTraffic traffic =
        layer_traffic(step, {.mlp = has_experts ? Mlp::experts : Mlp::dense},
                      layout.recompute == Recompute::full);
    auto real = [](int64_t value) { return static_cast<double>(value); };
    const double t = real(layout.tensor);
    const double c = real(layout.context);
    const double e = real(layout.expert);
    const double tokens = real(layout.micro_batch) * 2048 / c;
    const double s = 2 * tokens * 1024;
    const double again = layout.recompute == Recompute::full ? 1 : 0;
    // Two pairs of a gather and a scatter, each (t-1)/t S; experts without a shared one have one.
    const double pairs = has_experts && model.experts->shared == 0 ? 1 : 2;
    CHECK(traffic.tensor_forward_B == doctest::Approx(pairs * 2 * s * (t - 1) / t));
    CHECK(traffic.tensor_backward_B == doctest::Approx((1 + again) * traffic.tensor_forward_B));
    // Around a ring both gradients and values come back; ulysses: all heads, and twice those of
    // keys.
    const bool is_ring = layout.context_by == ContextBy::ring;
    const double around = (c - 1) * 2 * 2 * tokens * (4 * 64) / t;
    const double heads = (c - 1) / c * 2 * tokens * (2 * 1024 + 2 * 4 * 64) / t;
    CHECK(traffic.context_forward_B ==
          doctest::Approx(layout.context_by == ContextBy::ulysses ? heads : around));
    CHECK(traffic.context_backward_B ==
          doctest::Approx(((is_ring ? 2 : 1) + again) * traffic.context_forward_B));
    if (has_experts)
      CHECK(expert_exchanges(step, 8).all[0].sent_B() ==
            doctest::Approx(2 * tokens * 2 * 1024 * 2 / t * (e - 1) / e));
    const double gradient = layout.half_gradients ? 2 : 4;
    const double of_parameter = layout.zero == 0   ? 2 * gradient
                                : layout.zero == 1 ? gradient + 2
                                : layout.zero == 2
                                    ? 8 * gradient + 2
                                    : 8 * ((layout.keeps_weights ? 2 : 4) + gradient);
    const double copies = real(layout.shard_copies);
    const double reductions = layout.zero >= 2 ? 8 : 1;
    const double of_shard = reductions * 2 * gradient * (copies - 1) / copies;
    const RankParameters parameters = rank_parameters(model, layout, 0);
    const double d = c * real(layout.replicas) / copies;
    const double de = t * d / e;
    CHECK(data_traffic_B(step, 0) ==
          doctest::Approx(of_parameter * (parameters.outside_experts() * (d - 1) / d +
                                          parameters.experts * (de - 1) / de) +
                          of_shard * (parameters.outside_experts() / d + parameters.experts / de)));
  }
  CHECK(seen == 300);
}

TEST_CASE("closed form: groups of ranks on boxes of four, by hand") {
  const Cluster cluster = boxes(4);
  GroupTimes groups(cluster, 16);
  const double us = 1e-6;
  // Inside a box: two links of 1 us, 0.01 ns a byte. Four ranks gather 4 MB: 3 steps of 1 MB.
  CHECK(groups.all_gather_s({1, 4}, 4e6) == doctest::Approx(3 * (2 + 10) * us));
  CHECK(groups.all_reduce_s({1, 4}, 4e6) == doctest::Approx(6 * (2 + 10) * us));
  // One rank of each box: gpu_link and nic at both ends, 8 us; 10 GB/s.
  CHECK(groups.all_gather_s({4, 4}, 4e6) == doctest::Approx(3 * (8 + 100) * us));
  // All sixteen: four cards carry what leaves a box, 40 GB/s.
  CHECK(groups.all_gather_s({1, 16}, 16e6) == doctest::Approx(15 * (8 + 25) * us));
  // Everybody to everybody, 1 MB each: three in the box, twelve beyond it, at the same time.
  CHECK(groups.all_to_all_s({1, 16}, 16e6) == doctest::Approx(12 * (8 + 100) * us));
  CHECK(groups.all_to_all_s({1, 4}, 4e6) == doctest::Approx(3 * (2 + 10) * us));
  for (const double send_s : groups.sends_s({8, 2}, 1e6, false))
    CHECK(send_s == doctest::Approx((8 + 100) * us));
  for (const double send_s : groups.sends_s({1, 4}, 1e6, true))
    CHECK(send_s == doctest::Approx((2 + 10) * us));
  CHECK(groups.all_gather_s({1, 1}, 1e6) == 0);
}

// Inside a box: 2 us and 0.01 ns a byte between any two. 2,048 / 4 tokens, 4 heads of 64 values for
// keys and for values, 16 for queries and for what comes out, of 2 bytes.
TEST_CASE("closed form: what ranks of a sequence exchange, by hand") {
  const Cluster cluster = boxes(1);
  const Gpu gpu = load_gpu("h100");
  const Transformer model = small_model();
  auto context_s = [&](const char* text, bool is_forward) {
    const Layout layout = parse_layout(text, "");
    GroupTimes groups(cluster, 4);
    const TrainingStep step{model, layout, 2048, gpu, Precision::bf16};
    const LayerTimes times = layer_times(step, groups, {});
    return (is_forward ? times.forward : times.backward).context;
  };
  const double narrow_B = 512 * 4 * 64 * 2;
  const double wide_B = 512 * 16 * 64 * 2;
  auto hops_s = [](double bytes) { return 3 * (2e-6 + bytes * 0.01e-9); };
  for (const bool is_forward : {true, false}) {
    CHECK(context_s("cp4 context=gather", is_forward) == doctest::Approx(hops_s(2 * narrow_B)));
    CHECK(context_s("cp4 context=ulysses", is_forward) ==
          doctest::Approx(2 * hops_s(wide_B / 4) + 2 * hops_s(narrow_B / 4)));
  }
}

TEST_CASE("closed form: the efficiency of products by size") {
  const Gpu gpu = load_gpu("h100");
  CHECK(gpu.efficiency(316e9) == doctest::Approx(0.78));
  CHECK(gpu.efficiency(2830e9) == doctest::Approx(0.73));
  CHECK(gpu.efficiency(1e15) == doctest::Approx(0.73));
  CHECK(gpu.efficiency(2.24e9) == doctest::Approx(0.37));
  // Half way between two sizes, over the logarithm.
  CHECK(gpu.efficiency(std::sqrt(7.07 * 14.1) * 1e9) == doctest::Approx((0.50 + 0.59) / 2));
  // A product of nothing still has to start: 4 / (4 + 2.24) of the time of the first size.
  const double first = gpu.product_s(2.24e9, 0, Precision::bf16);
  CHECK(gpu.product_s(1, 0, Precision::bf16) == doctest::Approx(first * 4 / 6.24).epsilon(1e-6));
}

}  // namespace
}  // namespace sgdsim
