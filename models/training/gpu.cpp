// Efficiency by size, and the fields of sgdsim/gpu/1.
#include "models/training/gpu.h"

#include <algorithm>
#include <cmath>

#include "sim/core/error.h"

namespace sgdsim {
namespace {

constexpr double giga = 1e9;
constexpr double tera = 1e12;

void check_points(const Value& list) {
  const std::vector<Value> points = list.items();
  for (std::size_t i = 1; i < points.size(); ++i)
    if (points[i].json()["gflop"] <= points[i - 1].json()["gflop"])
      points[i].fail("expected sizes that ascend");
}

void check_heads(const Value& list) {
  const std::vector<Value> points = list.items();
  for (std::size_t i = 1; i < points.size(); ++i)
    if (points[i].json()["head_size"] <= points[i - 1].json()["head_size"])
      points[i].fail("expected sizes that ascend");
}

void check_kinds(const Value& list) {
  const std::vector<Value> all = list.items();
  for (std::size_t i = 0; i < all.size(); ++i)
    for (std::size_t j = 0; j < i; ++j)
      if (all[i].json()["beside"] == all[j].json()["beside"])
        all[i].fail("expected each kind of exchange once");
}

// As the file has it.
struct GpuFields {
  FileHead head;
  double bf16_tflops = 0;
  std::optional<double> fp8_tflops;
  std::optional<double> fp4_tflops;
  Gpu gpu;
  std::optional<std::vector<Interference>> interference;
};

Fields fields_of(GpuFields& o) {
  Gpu& gpu = o.gpu;
  return {
      Field("schema", o.head.schema, "kind and version of this file").needed().constant(gpu_schema),
      Field("name", gpu.name, "for people").needed(),
      {"description", gpu.description, "what it is"},
      {"source", gpu.source, "where the figures come from"},
      Field("bf16_tflops", o.bf16_tflops, "dense peak of BF16 in 10^12 FLOP/s")
          .needed()
          .from(1e-3, 1e6),
      Field("fp8_tflops", o.fp8_tflops, "dense peak of FP8 in 10^12 FLOP/s; not given: it has none")
          .from(1e-3, 1e6),
      Field("fp4_tflops", o.fp4_tflops, "dense peak of NVFP4 in 10^12 FLOP/s; likewise")
          .from(1e-3, 1e6),
      Field("memory_bandwidth", gpu.memory_rate, "bandwidth of its memory")
          .needed()
          .also([](const Value& rate) {
            if (rate.bandwidth().Bps() < 1e6) rate.fail("expected at least 1 MBps");
          }),
      Field("memory", gpu.memory, "how much memory it has").needed(),
      Field("gemm_efficiency", gpu.gemm,
            "part of the BF16 peak that a matrix product reaches, by its size; sizes ascend")
          .needed()
          .filled("size with its part of the peak")
          .also(check_points),
      Field("start_gflop", gpu.start_gflop,
            "below the first size a product takes as long as one that is larger by so much: "
            "its start")
          .needed()
          .from(0., 1e6),
      Field("weight_part", gpu.weight_part,
            "part of what other products reach that those for gradients of weights reach")
          .from(0.01, 2),
      Field("fp8_part", gpu.fp8_part,
            "part that FP8 reaches of its peak, over the part that BF16 reaches of its own")
          .from(0.01, 2),
      Field("fp4_part", gpu.fp4_part, "the same of NVFP4").from(0.01, 2),
      Field("memory_part", gpu.memory_part,
            "part of the memory's bandwidth that element-wise kernels reach")
          .from(0.01, 1),
      Field("kernel", gpu.kernel, "what starting an element-wise kernel costs").needed(),
      {"layer", gpu.layer,
       "what each layer costs in each pass besides its kernels: the host, and gaps"},
      {"exchange", gpu.exchange,
       "what each exchange inside a layer costs besides the network: starting it, and waiting"},
      Field("attention_forward", gpu.any_attention.forward,
            "part of the BF16 peak that attention reaches, on the scores that the mask leaves")
          .needed()
          .from(0.01, 1),
      Field("attention_backward", gpu.any_attention.backward, "the same, backward")
          .needed()
          .from(0.01, 1),
      Field("attention_heads", gpu.attention_heads,
            "what attention reaches by the size of a head, in place of the two figures above; the "
            "smallest size that is no smaller counts, or else the largest")
          .also(check_heads),
      {"flash_attention", gpu.runs_flash,
       "whether FlashAttention runs on it; if not, layouts that do not say otherwise write the "
       "scores of attention (attention=unfused)"},
      {"attention_start", gpu.attention_start,
       "what attention of a layer costs in each pass besides its FLOP"},
      Field("interference", o.interference,
            "how products and exchanges slow each other down; of a layout, exchanges are NCCL's, "
            "or else the multiprocessors'; not given: products take 1.19 times as long beside "
            "NCCL's; []: nothing does")
          .also(check_kinds),
      {"launch", gpu.launch,
       "what the host takes to start a kernel, of layouts with cuda_graphs=off; 5 us if not given"},
      Field("host", gpu.host,
            "what a GPU shares with the host of its box, of layouts with offload")};
}

}  // namespace

std::string_view name_of(Precision precision) { return name_in(precisions, precision); }
Precision precision_named(const std::string& name, const std::string& where) {
  return named_in(precisions, "precision", name, where);
}

double value_B(Precision precision) {
  switch (precision) {
    case Precision::fp8:
      return 1;
    case Precision::nvfp4:  // a scale of a byte for 16 values
      return 0.5 + 1.0 / 16;
    case Precision::bf16:
      break;
  }
  return 2;
}

void check_precision(const Gpu& gpu, Precision precision, const std::string& where) {
  if (gpu.peak(precision) > 0) return;
  const bool is_fp8 = precision == Precision::fp8;
  throw InputError(where, "the GPU " + gpu.name + " has no " + (is_fp8 ? "FP8" : "NVFP4") +
                              "; expected bf16" + (!is_fp8 && gpu.fp8_flops > 0 ? " or fp8" : ""));
}

double Gpu::peak(Precision precision) const {
  switch (precision) {
    case Precision::fp8:
      return fp8_flops;
    case Precision::nvfp4:
      return fp4_flops;
    case Precision::bf16:
      break;
  }
  return bf16_flops;
}

double Gpu::efficiency(double flop) const {
  const double gflop = flop / giga;
  const EfficiencyPoint& first = gemm.front();
  if (gflop <= first.gflop)
    return first.part * (first.gflop + start_gflop) / first.gflop * gflop / (gflop + start_gflop);
  const auto above = std::find_if(
      gemm.begin(), gemm.end(), [&](const EfficiencyPoint& point) { return point.gflop > gflop; });
  if (above == gemm.end()) return gemm.back().part;
  const EfficiencyPoint& below = *(above - 1);
  const double way = std::log(gflop / below.gflop) / std::log(above->gflop / below.gflop);
  return below.part + way * (above->part - below.part);
}

double Gpu::flop_s(double flop, Precision precision, double factor) const {
  if (flop <= 0) return 0;
  if (precision == Precision::fp8) factor *= fp8_part;
  if (precision == Precision::nvfp4) factor *= fp4_part;
  return flop / (peak(precision) * std::min(1., factor * efficiency(flop)));
}

double Gpu::product_s(double flop, double bytes, Precision precision) const {
  return std::max(flop_s(flop, precision, 1), flop > 0 ? bytes_s(bytes) : 0);
}

double Gpu::weight_product_s(double flop, double bytes, Precision precision) const {
  return std::max(flop_s(flop, precision, weight_part), bytes_s(bytes));
}

AttentionParts Gpu::attention(int64_t head_size) const {
  if (attention_heads.empty()) return any_attention;
  const auto fitting =
      std::find_if(attention_heads.begin(), attention_heads.end(),
                   [&](const AttentionPoint& point) { return point.head_size >= head_size; });
  return fitting == attention_heads.end() ? attention_heads.back().parts : fitting->parts;
}

const HostShare& Gpu::host_share() const {
  if (!host)
    throw InputError("offload", "the file of the GPU " + name +
                                    " says nothing of its host; add \"host\": {\"link\": \"64 "
                                    "GBps\", \"memory_bandwidth\": \"77 GBps\"}, or leave "
                                    "offload out");
  return *host;
}

Interference Gpu::beside_exchanges() const {
  for (const auto& [name, kind] : besides)
    for (const Interference& one : interference)
      if (one.beside == kind) return one;
  return {};
}

Gpu read_gpu(const Value& value) {
  auto given = read_record<GpuFields>(value);
  given.gpu.bf16_flops = given.bf16_tflops * tera;
  if (given.fp4_tflops) given.gpu.fp4_flops = *given.fp4_tflops * tera;
  if (given.fp8_tflops) given.gpu.fp8_flops = *given.fp8_tflops * tera;
  given.gpu.assumes_interference = !given.interference;
  given.gpu.interference =
      given.interference ? *std::move(given.interference) : std::vector{usual_interference};
  return std::move(given.gpu);
}

Json schema_of_gpus() { return schema_of_record<GpuFields>(); }

}  // namespace sgdsim
