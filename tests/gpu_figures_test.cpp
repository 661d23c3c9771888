// What a GPU's file says of products, casts, attention and exchanges, in a layer by hand.
#include <doctest/doctest.h>

#include "models/training/gpu.h"
#include "models/training/layer_times.h"
#include "models/training/layout.h"
#include "sim/core/error.h"
#include "study/layout/layout_files.h"
#include "tests/training_cases.h"

namespace sgdsim {
namespace {

// Half of 100 TFLOP/s at every size; memory of 1 TB/s, of which half is reached.
Gpu plain_gpu() {
  Gpu gpu;
  gpu.name = "plain";
  gpu.bf16_flops = 1e14;
  gpu.fp8_flops = 2e14;
  gpu.fp4_flops = 4e14;
  gpu.memory_rate = Bandwidth::Bps(1e12);
  gpu.memory_part = 0.5;
  gpu.gemm = {{1e-6, 0.5}};
  gpu.start_gflop = 0;
  gpu.any_attention = {0.5, 0.25};
  return gpu;
}

LayerTimes times_of(const Transformer& model, const Gpu& gpu, const char* layout,
                    Precision precision = Precision::bf16, LayerKind kind = {}) {
  const Layout read = parse_layout(layout, "");
  const Cluster cluster = free_cluster(static_cast<int>(read.gpus()));
  GroupTimes groups(cluster, read.gpus());
  REQUIRE(misfit_of(model, read, model.sequence).empty());
  return layer_times({model, read, model.sequence, gpu, precision}, groups, kind);
}

// Of 2,048 tokens and 1,024 values: queries, keys and values, what attention gives, and the two
// products of the MLP.
constexpr double tokens = 2048;
constexpr std::array columns = {1536., 1024., 8192., 1024.};
constexpr std::array inner = {1024., 1024., 1024., 4096.};

TEST_CASE("gpu: products for gradients of weights reach a part of what others reach") {
  const Transformer model = small_model();
  Gpu gpu = plain_gpu();
  gpu.memory_rate = Bandwidth::Bps(1e18);  // so that no product waits for its matrices
  double flop = 0;
  for (std::size_t i = 0; i < columns.size(); ++i) flop += 2 * tokens * columns[i] * inner[i];
  const LayerTimes even = times_of(model, gpu, "mbs1");
  CHECK(even.forward.products == doctest::Approx(flop / 5e13));
  CHECK(even.backward.products == doctest::Approx(2 * flop / 5e13));
  CHECK(even.backward.weight_products == doctest::Approx(flop / 5e13));
  gpu.weight_part = 0.8;
  const LayerTimes slow = times_of(model, gpu, "mbs1");
  CHECK(slow.forward.products == even.forward.products);
  CHECK(slow.backward.weight_products == doctest::Approx(flop / 4e13));
  CHECK(slow.backward.products == doctest::Approx(flop / 5e13 + flop / 4e13));
}

// With products that cost nothing, a product takes as long as its bytes.
TEST_CASE("gpu: a product for gradients reads and writes those that are kept") {
  const Transformer model = small_model();
  Gpu gpu = plain_gpu();
  gpu.bf16_flops = 1e30;
  const auto seconds = [&](double of_gradient) {
    double bytes = 0;
    for (std::size_t i = 0; i < columns.size(); ++i)
      bytes += 2 * tokens * (columns[i] + inner[i]) + of_gradient * columns[i] * inner[i];
    return bytes / 5e11;
  };
  const auto weights_s = [&](const char* layout) {
    return times_of(model, gpu, layout).backward.weight_products;
  };
  CHECK(weights_s("mbs1") == doctest::Approx(seconds(8)));
  CHECK(weights_s("mbs1 gradients=bf16") == doctest::Approx(seconds(4)));
  CHECK(weights_s("mbs1 accumulate=apart") == doctest::Approx(seconds(2)));
}

// Eight experts of 512 values, each with a quarter of the tokens: 16 products in two kernels, whose
// bytes come on top of their FLOP.
TEST_CASE("gpu: products of experts take their FLOP and their bytes") {
  Transformer model = small_model();
  model.experts = Experts{.count = 8, .per_token = 2, .width = 512};
  const LayerKind kind{.mixing = Mixing::full, .mlp = Mlp::experts};
  LayerKind bare = kind;
  bare.mlp = Mlp::none;
  const auto experts_of = [&](const Gpu& gpu) {
    const LayerTimes all = times_of(model, gpu, "mbs1", Precision::bf16, kind);
    const LayerTimes rest = times_of(model, gpu, "mbs1", Precision::bf16, bare);
    const double router = gpu.product_s(
        2 * tokens * 8 * 1024, 2 * (tokens * 1024 + 8 * 1024 + tokens * 8), Precision::bf16);
    return all.forward.products - rest.forward.products - router;
  };
  const double rows = 512;
  const double flop = 8 * (2 * rows * 1024 * 1024 + 2 * rows * 1024 * 512);
  const double bytes = 8 * 2 *
                       (rows * 1024 + 1024 * 1024 + rows * 1024 +  // into the MLP
                        rows * 512 + 512 * 1024 + rows * 1024);    // and out of it
  CHECK(experts_of(plain_gpu()) == doctest::Approx(flop / 5e13 + bytes / 5e11));
}

TEST_CASE("gpu: attention by the size of a head, and its start") {
  Transformer model = small_model();  // heads of 64
  Gpu gpu = plain_gpu();
  const LayerTimes plain = times_of(model, gpu, "mbs1");
  gpu.attention_heads = {{64, {0.4, 0.2}}, {128, {0.8, 0.5}}};
  const LayerTimes of_64 = times_of(model, gpu, "mbs1");
  CHECK(of_64.forward.attention == doctest::Approx(plain.forward.attention * 0.5 / 0.4));
  CHECK(of_64.backward.attention == doctest::Approx(plain.backward.attention * 0.25 / 0.2));
  gpu.attention_start = Duration::us(7);
  const LayerTimes later = times_of(model, gpu, "mbs1");
  CHECK(later.forward.attention == doctest::Approx(of_64.forward.attention + 7e-6));
  CHECK(later.backward.attention == doctest::Approx(of_64.backward.attention + 7e-6));
  // Between two sizes the larger counts; beyond all of them the largest.
  CHECK(gpu.attention(1).forward == 0.4);
  CHECK(gpu.attention(65).forward == 0.8);
  CHECK(gpu.attention(128).backward == 0.5);
  CHECK(gpu.attention(256).forward == 0.8);
}

TEST_CASE("gpu: what goes into products of fewer bits is cast, 6 bytes a value") {
  const Transformer model = small_model();
  const Gpu gpu = plain_gpu();
  // Forward the input, what attention gives, the input of the MLP and what its second matrix takes;
  // backward the gradients of what the four products give.
  const double forward = 1024 + 1024 + 1024 + 4096;
  const double backward = 1536 + 1024 + 8192 + 1024;
  const LayerTimes plain = times_of(model, gpu, "mbs1");
  for (const Precision precision : {Precision::fp8, Precision::nvfp4}) {
    const LayerTimes cast = times_of(model, gpu, "mbs1", precision);
    CHECK(cast.forward.element_wise - plain.forward.element_wise ==
          doctest::Approx(6 * tokens * forward / 5e11));
    CHECK(cast.backward.element_wise - plain.backward.element_wise ==
          doctest::Approx(6 * tokens * backward / 5e11));
  }
}

TEST_CASE("gpu: parts and peaks of precisions, and those that it has not") {
  Gpu gpu = plain_gpu();
  gpu.fp8_part = 0.9;
  gpu.fp4_part = 0.6;
  CHECK(gpu.product_s(1e12, 0, Precision::bf16) == doctest::Approx(1e12 / 5e13));
  CHECK(gpu.product_s(1e12, 0, Precision::fp8) == doctest::Approx(1e12 / (2e14 * 0.5 * 0.9)));
  CHECK(gpu.product_s(1e12, 0, Precision::nvfp4) == doctest::Approx(1e12 / (4e14 * 0.5 * 0.6)));
  gpu.fp8_part = 2;  // of a half is all of the peak, and of more is no more
  gpu.gemm = {{1e-6, 0.9}};
  CHECK(gpu.product_s(1e12, 0, Precision::fp8) == doctest::Approx(1e12 / 2e14));
  gpu.weight_part = 2;
  CHECK(gpu.weight_product_s(1e12, 0, Precision::bf16) == doctest::Approx(1e12 / 1e14));
  CHECK(value_B(Precision::bf16) == 2);
  CHECK(value_B(Precision::fp8) == 1);
  CHECK(value_B(Precision::nvfp4) == 0.5625);  // four bits, and one byte for 16 values
  const auto refusal = [&](Precision precision) -> std::string {
    try {
      check_precision(gpu, precision, "");
    } catch (const InputError& error) {
      return error.what();
    }
    return "";
  };
  CHECK(refusal(Precision::nvfp4).empty());
  gpu.fp4_flops = 0;
  CHECK(refusal(Precision::nvfp4).find("the GPU plain has no NVFP4; expected bf16 or fp8") !=
        std::string::npos);
  gpu.fp8_flops = 0;
  CHECK(refusal(Precision::nvfp4).find("has no NVFP4; expected bf16") != std::string::npos);
  CHECK(refusal(Precision::nvfp4).find("fp8") == std::string::npos);
  CHECK(refusal(Precision::fp8).find("has no FP8; expected bf16") != std::string::npos);
}

TEST_CASE("gpu: exchanges inside a layer have a start") {
  Transformer model = small_model();
  model.experts = Experts{.count = 8, .per_token = 2, .width = 512};
  const LayerKind dense{.mixing = Mixing::full, .mlp = Mlp::dense};
  const LayerKind sparse{.mixing = Mixing::full, .mlp = Mlp::experts};
  struct Row {
    const char* layout;
    LayerKind kind;
    double exchanges;
  };
  for (const Row& row : {Row{"mbs1", dense, 0}, Row{"dp8 zero1", dense, 0}, Row{"tp2 sp", dense, 4},
                         Row{"cp2", dense, 0}, Row{"cp2 context=gather", dense, 1},
                         Row{"cp2 context=ulysses", dense, 4}, Row{"dp4 ep4", sparse, 2},
                         Row{"tp2 cp2 sp context=ulysses", dense, 8}}) {
    INFO(row.layout);
    Gpu gpu = plain_gpu();
    const LayerTimes without = times_of(model, gpu, row.layout, Precision::bf16, row.kind);
    gpu.exchange = Duration::us(50);
    const LayerTimes with = times_of(model, gpu, row.layout, Precision::bf16, row.kind);
    const double start = row.exchanges * 50e-6;
    CHECK(with.forward.element_wise - without.forward.element_wise == doctest::Approx(start));
    CHECK(with.backward.element_wise - without.backward.element_wise == doctest::Approx(start));
  }
}

TEST_CASE("gpu: a file's list of heads ascends") {
  const std::string text = R"({"schema": "sgdsim/gpu/1", "name": "a", "source": "a",
      "bf16_tflops": 1, "memory_bandwidth": "1 TBps", "memory": "1 GB",
      "gemm_efficiency": [{"gflop": 1, "part": 0.5}], "kernel": "1 us", "start_gflop": 1,
      "attention_forward": 0.5, "attention_backward": 0.5, "attention_heads": [)";
  const auto read = [&](const std::string& heads) -> std::string {
    try {
      read_gpu(Document::parse(text + heads + "]}", "gpu.json").root());
    } catch (const InputError& error) {
      return error.what();
    }
    return "";
  };
  const std::string narrow = R"({"head_size": 64, "forward": 0.5, "backward": 0.4})";
  const std::string wide = R"({"head_size": 128, "forward": 0.6, "backward": 0.5})";
  CHECK(read(narrow + ", " + wide).empty());
  CHECK(read(wide + ", " + narrow).find("/attention_heads/1: expected sizes that ascend") !=
        std::string::npos);
  CHECK(read(wide + ", " + wide).find("expected sizes that ascend") != std::string::npos);
  CHECK(read(R"({"head_size": 0, "forward": 0.5, "backward": 0.4})").find("head_size") !=
        std::string::npos);
  CHECK(read(R"({"head_size": 64, "forward": 1.5, "backward": 0.4})").find("forward") !=
        std::string::npos);
}

}  // namespace
}  // namespace sgdsim
