// What the host has to do with a step: it keeps what does not fit, and it launches kernels.
#include <doctest/doctest.h>

#include "models/training/memory.h"
#include "models/training/step_on_wires.h"
#include "study/layout/layout_files.h"
#include "tests/cluster_cases.h"
#include "tests/free_gpu.h"
#include "tests/run_program.h"
#include "tests/texts.h"
#include "tests/training_cases.h"

namespace sgdsim {
namespace {

HybridStep priced(const Transformer& model, const std::string& text, const Gpu& gpu) {
  const Layout layout = parse_layout(text, "");
  const Cluster cluster = free_cluster(static_cast<int>(layout.gpus()));
  GroupTimes groups(cluster, layout.gpus());
  return hybrid_step({model, layout, 2048, gpu, Precision::bf16}, groups);
}

Gpu with_host(double link_Bps, double memory_Bps) {
  Gpu gpu = free_gpu();
  gpu.host = HostShare{Bandwidth::Bps(link_Bps), Bandwidth::Bps(memory_Bps)};
  return gpu;
}

TEST_CASE("offload: words are read, written and refused") {
  for (const char* text : {"zero0 offload=activations", "dp8 zero3 offload=both:40",
                           "dp2 zero1 offload=optimizer", "zero0 cuda_graphs=off"}) {
    CHECK(to_text(parse_layout(text, "")) == text);
    const Json json = to_json(parse_layout(text, ""));
    CHECK(read_layout(Value(json, "layout.json", "")) == parse_layout(text, ""));
  }
  CHECK(to_text(parse_layout("dp2 offload=none cuda_graphs=on", "")) == "dp2 zero0");
  for (const auto& row : std::vector<std::pair<std::string, std::string>>{
           {"offload=weights", "unknown offload \"weights\""},
           {"offload=optimizer:40", "takes no number"},
           {"offload=activations:0", "expected a whole number from 1 to 100"},
           {"offload=activations:101", "expected a whole number from 1 to 100"},
           {"offload=both:", "expected a whole number from 1 to 100"},
           {"cuda_graphs=some", "unknown cuda_graphs"}})
    CHECK(holds(refusal_of([&] { parse_layout(row.first, ""); }), row.second));
  const Transformer model = small_model();
  CHECK(holds(refusal_of([&] { priced(model, "offload=optimizer", free_gpu()); }),
              "add \"host\": {\"link\""));
}

// With free computing all of it is exposed, in both passes of each of four micro-batches.
TEST_CASE("offload: activations go out and come back, under passes where there is room") {
  const Transformer model = small_model();
  const double layer_B = layer_activations_B(model, parse_layout("mbs2", ""), 2048, {});
  Gpu gpu = with_host(1e9, 1e9);
  const double compute_s = [&] {
    const StepParts parts = priced(model, "mbs2 ga4", gpu).parts;
    return parts.products + parts.attention;
  }();
  const HybridStep slow = priced(model, "mbs2 ga4 offload=activations", gpu);
  const double copied_s = 4 * 2 * 48 * layer_B / 1e9;
  CHECK(slow.parts.offload + slow.hidden.offload == doctest::Approx(copied_s));
  // All of the layers' computing lies over copies; the head's does not.
  const double head_s = 4 * 3 * 2.0 * 2 * 2048 * 1024 * 32000 / free_flops;
  CHECK(slow.hidden.offload == doctest::Approx(compute_s - head_s));
  CHECK(slow.time.s() == doctest::Approx(copied_s + head_s));
  const HybridStep part = priced(model, "mbs2 ga4 offload=activations:25", gpu);
  CHECK(part.parts.offload + part.hidden.offload == doctest::Approx(copied_s / 4));
  gpu.host->link = Bandwidth::Bps(1e15);
  const HybridStep fast = priced(model, "mbs2 ga4 offload=activations", gpu);
  CHECK(fast.parts.offload == 0);
  CHECK(fast.time == priced(model, "mbs2 ga4", gpu).time);
  // Of layers that are computed again only their inputs move.
  gpu.host->link = Bandwidth::Bps(1e9);
  const HybridStep again = priced(model, "mbs2 ga4 recompute=full offload=activations", gpu);
  CHECK(again.parts.offload + again.hidden.offload ==
        doctest::Approx(4 * 2 * 48 * 2 * 2048 * 2 * 1024.0 / 1e9));
}

TEST_CASE("offload: memory falls by what the host keeps") {
  const Transformer model = small_model();
  const auto memory = [&](const std::string& words) {
    return stage_memory(model, parse_layout("mbs2 " + words, ""), 2048, 0);
  };
  const double layer_B = layer_activations_B(model, parse_layout("mbs2", ""), 2048, {});
  CHECK(memory("").host_B == 0);
  // Two layers stay: the one that is computed and the one that is copied.
  CHECK(memory("offload=activations").activations_B == doctest::Approx(2 * layer_B));
  CHECK(memory("offload=activations").host_B == doctest::Approx(46 * layer_B));
  CHECK(memory("offload=activations:50").activations_B == doctest::Approx(25 * layer_B));
  const StageMemory whole = memory("");
  const StageMemory states = memory("offload=optimizer");
  CHECK(states.optimizer_B == 0);
  CHECK(states.host_B == whole.optimizer_B);
  CHECK(states.activations_B == whole.activations_B);
  const StageMemory both = memory("offload=both");
  CHECK(both.total_B() == doctest::Approx(whole.total_B() - whole.optimizer_B - 46 * layer_B));
  CHECK(memory("dp1 offload=optimizer lora=16").host_B ==
        12 * rank_parameters(model, parse_layout("lora=16", ""), 0).adapters);
}

// Gradients of 4 bytes out, under the last backward pass; 30 bytes of the host's memory for each
// parameter, while weights of 2 bytes come back.
TEST_CASE("offload: the host updates the optimizer") {
  const Transformer model = small_model();
  const double parameters = static_cast<double>(parameters_of(model).total);
  const double backward_s = priced(model, "ga4", free_gpu()).backward_s;
  const Gpu slow = with_host(1e9, 1e12);
  CHECK(priced(model, "ga4 offload=optimizer", slow).parts.optimizer ==
        doctest::Approx(parameters * 4 / 1e9 - backward_s + parameters * 2 / 1e9));
  const Gpu busy = with_host(1e12, 1e9);
  CHECK(priced(model, "ga4 offload=optimizer", busy).parts.optimizer ==
        doctest::Approx(std::max(0.0, parameters * 4 / 1e12 - backward_s) + parameters * 30 / 1e9));
  CHECK(priced(model, "dp4 zero1 ga4 offload=optimizer", busy).parts.optimizer ==
        doctest::Approx(std::max(0.0, parameters * 1 / 1e12 - backward_s) +
                        parameters / 4 * 30 / 1e9));
}

// A dense layer: four products, attention, six element-wise kernels; backward twice the products
// and three kernels of attention. The head: five, and six.
TEST_CASE("launches: a step takes no less than the host needs for its kernels") {
  const Transformer model = small_model();
  Gpu gpu = free_gpu();
  gpu.launch = Duration::ms(1);
  const double forward = 4 + 1 + 6;
  const double backward = 8 + 3 + 6;
  const HybridStep late = priced(model, "ga4 cuda_graphs=off", gpu);
  CHECK(late.time.s() == doctest::Approx(4e-3 * (48 * (forward + backward) + 5 + 6)));
  CHECK(late.parts.host == doctest::Approx(late.time.s() - priced(model, "ga4", gpu).time.s()));
  CHECK(priced(model, "ga4", gpu).parts.host == 0);
  // Computed again, a layer's forward kernels are launched twice; eager layers have 25.
  CHECK(priced(model, "ga4 cuda_graphs=off recompute=full", gpu).time.s() ==
        doctest::Approx(4e-3 * (48 * (2 * forward + backward) + 5 + 6)));
  CHECK(priced(model, "ga4 cuda_graphs=off kernels=eager", gpu).time.s() ==
        doctest::Approx(4e-3 * (48 * (forward + backward + 2 * 19) + 5 + 6)));
  gpu.launch = Duration::ns(1);
  CHECK(priced(model, "mbs8 ga4 cuda_graphs=off", gpu).parts.host == 0);
}

// Without contention, and with nothing hidden, passes and wires take what the formula says.
TEST_CASE("host: passes and wires wait for it as the formula does") {
  Transformer model = small_model();
  model.layers = 4;
  model.kv_heads = model.heads;
  Gpu gpu = load_gpu("h100");
  gpu.launch = Duration::us(100);
  for (const char* text :
       {"ga3 cuda_graphs=off", "ga2 offload=activations", "ga2 offload=both recompute=full",
        "ga2 offload=activations:30 cuda_graphs=off recompute=block:2", "ga3 offload=optimizer"}) {
    CAPTURE(text);
    const Layout layout = parse_layout(text, "");
    const Cluster cluster = one_switch(1);
    GroupTimes groups(cluster, 1);
    const TrainingStep step{model, layout, 2048, gpu, Precision::bf16};
    const double formula_s = hybrid_step(step, groups).time.s();
    const StepOnWires wires = play_on_wires(step, cluster, groups, {}, {});
    CHECK(play_step(step, groups).step.time.s() == doctest::Approx(formula_s).epsilon(1e-7));
    CHECK(wires.step.time.s() == doctest::Approx(formula_s).epsilon(1e-7));
  }
  for (const char* text : {"pp4 ga8 cuda_graphs=off", "pp2 vp2 ga4 offload=both",
                           "pp4 ga8 schedule=zb1p offload=activations cuda_graphs=off",
                           "pp2 dp2 ga4 zero3 schedule=dualpipe offload=both"}) {
    CAPTURE(text);
    const Layout layout = parse_layout(text, "");
    const Cluster cluster = one_switch(layout.gpus());
    GroupTimes groups(cluster, layout.gpus());
    const TrainingStep step{model, layout, 2048, gpu, Precision::bf16};
    const double passes_s = play_step(step, groups).step.time.s();
    CHECK(passes_s == doctest::Approx(hybrid_step(step, groups).time.s()).epsilon(0.2));
    CHECK(play_on_wires(step, cluster, groups, {}, {}).step.time.s() >= 0.95 * passes_s);
  }
}

TEST_CASE("host: a search knows it when it is asked") {
  const std::vector<std::string> words = {
      "layout", "llama3.1_70b", "-c",  "topologies/data/dgx_h100_4.json", "--gpus",
      "8",      "--format",     "json"};
  CHECK(run_sgdsim(words).exit_code == 2);  // 70B with its states do not fit on 8 GPUs
  std::vector<std::string> more = words;
  more.insert(more.end(), {"--with", "offload=both cuda_graphs=off"});
  const Ran found = run_sgdsim(more);
  CAPTURE(found.log);
  REQUIRE(found.exit_code == 0);
  const Json best = Json::parse(found.out)["layouts"][0];
  CHECK(best["host_GiB"].get<double>() > 50);
  CHECK(best["hidden"].contains("offload_us"));
}

}  // namespace
}  // namespace sgdsim
