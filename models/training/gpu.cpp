// Efficiency by size, and the fields of sgdsim/gpu/1.
#include "models/training/gpu.h"

#include <algorithm>
#include <cmath>

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

// As the file has it.
struct GpuFields {
  FileHead head;
  double bf16_tflops = 0;
  std::optional<double> fp8_tflops;
  Gpu gpu;
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
      Field("fp8_part", gpu.fp8_part,
            "part that FP8 reaches of its peak, over the part that BF16 reaches of its own")
          .from(0.01, 2),
      Field("memory_part", gpu.memory_part,
            "part of the memory's bandwidth that element-wise kernels reach")
          .from(0.01, 1),
      Field("kernel", gpu.kernel, "what starting an element-wise kernel costs").needed(),
      {"layer", gpu.layer,
       "what each layer costs in each pass besides its kernels: the host, and gaps"},
      Field("attention_forward", gpu.attention_forward,
            "part of the BF16 peak that attention reaches, on the scores that the mask leaves")
          .needed()
          .from(0.01, 1),
      Field("attention_backward", gpu.attention_backward, "the same, backward")
          .needed()
          .from(0.01, 1)};
}

}  // namespace

std::string_view name_of(Precision precision) { return name_in(precisions, precision); }
Precision precision_named(const std::string& name, const std::string& where) {
  return named_in(precisions, "precision", name, where);
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

double Gpu::product_s(double flop, double bytes, Precision precision) const {
  if (flop <= 0) return 0;
  const double part = efficiency(flop) * (precision == Precision::fp8 ? fp8_part : 1);
  return std::max(flop / (peak(precision) * part), bytes_s(bytes));
}

Gpu read_gpu(const Value& value) {
  auto given = read_record<GpuFields>(value);
  given.gpu.bf16_flops = given.bf16_tflops * tera;
  if (given.fp8_tflops) given.gpu.fp8_flops = *given.fp8_tflops * tera;
  return std::move(given.gpu);
}

Json schema_of_gpus() { return schema_of_record<GpuFields>(); }

}  // namespace sgdsim
