// Efficiency by size, and the fields of sgdsim/gpu/1.
#include "models/training/gpu.h"

#include <algorithm>
#include <cmath>

#include "sim/core/named.h"

namespace sgdsim {
namespace {

constexpr double giga = 1e9;
constexpr double tera = 1e12;
constexpr Named<Precision, 2> precisions{{{"bf16", Precision::bf16}, {"fp8", Precision::fp8}}};

std::vector<EfficiencyPoint> read_points(const Value& value) {
  std::vector<EfficiencyPoint> points;
  for (const Value& item : value.items()) {
    Object fields(item);
    const double gflop = fields.at("gflop").number(1e-6, 1e9);
    const double part = fields.at("part").number(1e-3, 1);
    fields.done();
    if (!points.empty() && gflop <= points.back().gflop) item.fail("expected sizes that ascend");
    points.push_back({gflop, part});
  }
  if (points.empty()) value.fail("expected at least one size with its part of the peak");
  return points;
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
  Object fields(value);
  const Value schema = fields.at("schema");
  if (schema.text() != gpu_schema)
    schema.fail("expected \"" + std::string(gpu_schema) + "\", got \"" + schema.text() + "\"");
  Gpu gpu;
  gpu.name = fields.at("name").text();
  if (const auto text = fields.find("description")) gpu.description = text->text();
  if (const auto text = fields.find("source")) gpu.source = text->text();
  gpu.bf16_flops = fields.at("bf16_tflops").number(1e-3, 1e6) * tera;
  if (const auto field = fields.find("fp8_tflops")) gpu.fp8_flops = field->number(1e-3, 1e6) * tera;
  const Value rate = fields.at("memory_bandwidth");
  gpu.memory_rate = rate.bandwidth();
  if (gpu.memory_rate.Bps() < 1e6) rate.fail("expected at least 1 MBps");
  gpu.memory = fields.at("memory").bytes();
  gpu.gemm = read_points(fields.at("gemm_efficiency"));
  gpu.start_gflop = fields.at("start_gflop").number(0, 1e6);
  if (const auto field = fields.find("fp8_part")) gpu.fp8_part = field->number(0.01, 2);
  if (const auto field = fields.find("memory_part")) gpu.memory_part = field->number(0.01, 1);
  gpu.kernel = fields.at("kernel").duration();
  if (const auto field = fields.find("layer")) gpu.layer = field->duration();
  gpu.attention_forward = fields.at("attention_forward").number(0.01, 1);
  gpu.attention_backward = fields.at("attention_backward").number(0.01, 1);
  fields.done();
  return gpu;
}

}  // namespace sgdsim
