// A GPU as the closed form of a training step sees it: peaks, memory, and what part of the peak a
// matrix product of a size reaches.
//
// The part is a table over the FLOP of the product, from measured ones; between its points it is
// interpolated over the logarithm. Below the table a product costs a time that hardly falls any
// more, because starting it dominates; above it the last value holds. A product also takes at
// least the time to move its matrices once.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sim/core/fields.h"

namespace sgdsim {

enum class Precision : uint8_t { bf16, fp8, nvfp4 };
inline constexpr Named<Precision, 3> precisions{
    {{"bf16", Precision::bf16}, {"fp8", Precision::fp8}, {"nvfp4", Precision::nvfp4}}};
inline const auto& names_of(Precision) { return precisions; }
std::string_view name_of(Precision precision);
Precision precision_named(const std::string& name, const std::string& where);
double value_B(Precision precision);  // of a matrix, with its part of the scales

struct EfficiencyPoint {
  double gflop = 0;
  double part = 0;  // of the peak
  bool operator==(const EfficiencyPoint&) const = default;
};
inline Fields fields_of(EfficiencyPoint& point) {
  return {Field("gflop", point.gflop, "10^9 FLOP of the product").needed().from(1e-6, 1e9),
          Field("part", point.part, "part of the peak").needed().from(1e-3, 1)};
}

// What attention reaches of the peak, on the scores that the mask leaves.
struct AttentionParts {
  double forward = 0;
  double backward = 0;
};
struct AttentionPoint {
  int64_t head_size = 0;
  AttentionParts parts;
};
inline Fields fields_of(AttentionPoint& point) {
  return {Field("head_size", point.head_size, "values of a query or key of one head")
              .needed()
              .from(1, 65536),
          Field("forward", point.parts.forward, "part of the BF16 peak").needed().from(0.01, 1),
          Field("backward", point.parts.backward, "the same, backward").needed().from(0.01, 1)};
}

// How many times as long products and exchanges take while both go on.
enum class Beside : uint8_t { nccl, multiprocessors, copy_engines };
inline constexpr Named<Beside, 3> besides{{{"nccl", Beside::nccl},
                                           {"multiprocessors", Beside::multiprocessors},
                                           {"copy engines", Beside::copy_engines}}};
inline const auto& names_of(Beside) { return besides; }
struct Interference {
  Beside beside = Beside::nccl;
  double products = 1;
  double exchange = 1;
};
// Where nobody measured it: the mean of arXiv 2507.03114 over trainings on A100, H100, MI210 and
// MI250, of which the worst took 1.4 times as long. What exchanges lose is in what they reach of
// their links.
inline constexpr Interference usual_interference{Beside::nccl, 1.19, 1};
inline Fields fields_of(Interference& one) {
  return {Field("beside", one.beside, "what exchanges").needed(),
          Field("products", one.products, "times as long products take while it does")
              .needed()
              .from(1, 100),
          Field("exchange", one.exchange, "times as long it takes while products go on")
              .needed()
              .from(1, 100)};
}

// What a GPU shares with the host of its box: the link between both, in one direction, and its part
// of the rate of the host's memory.
struct HostShare {
  Bandwidth link;
  Bandwidth memory_rate;
};
inline Fields fields_of(HostShare& host) {
  const auto check = [](const Value& rate) {
    if (rate.bandwidth().Bps() < 1e6) rate.fail("expected at least 1 MBps");
  };
  return {Field("link", host.link, "bandwidth between a GPU and its host, in one direction")
              .needed()
              .also(check),
          Field("memory_bandwidth", host.memory_rate,
                "bandwidth of the host's memory, over the GPUs that share it")
              .needed()
              .also(check)};
}

struct Gpu {
  std::string name;
  std::string description;
  std::string source;
  double bf16_flops = 0;  // FLOP/s, dense
  double fp8_flops = 0;   // 0: it has none
  double fp4_flops = 0;
  Bandwidth memory_rate;
  Bytes memory;
  std::vector<EfficiencyPoint> gemm;  // ascending
  double start_gflop = 1;             // size at which half of a small product's time is its start
  double weight_part = 1;             // of what other products reach, those for weights reach
  double fp8_part = 1;                // of what BF16 reaches of its peak, FP8 reaches of its own
  double fp4_part = 1;
  double memory_part = 0.8;  // of the memory's rate
  Duration kernel;           // that starting an element-wise kernel costs
  Duration layer;            // of each layer and pass, besides its kernels: the host, and gaps
  Duration exchange;         // of each exchange inside a layer, besides the network: starting it
  AttentionParts any_attention;
  std::vector<AttentionPoint> attention_heads;  // ascending; those of their sizes
  bool runs_flash = true;                       // FlashAttention
  Duration attention_start;                     // of each layer's attention, in each pass
  std::vector<Interference> interference;       // each kind once
  bool assumes_interference = false;            // the usual one, because the file says none
  Duration launch = Duration::us(5);  // that the host takes to start a kernel, with cuda_graphs=off
  std::optional<HostShare> host;      // of the box; nothing: not known

  double peak(Precision precision) const;  // 0: it has none
  // Part of the peak that a product of so many FLOP reaches.
  double efficiency(double flop) const;
  // Seconds of a product that reads and writes so many bytes.
  double product_s(double flop, double bytes, Precision precision) const;
  // The same, of one that makes gradients of weights.
  double weight_product_s(double flop, double bytes, Precision precision) const;
  // Of the smallest listed size that is no smaller, or else of the largest.
  AttentionParts attention(int64_t head_size) const;
  // Of NCCL, whose kernels run on the multiprocessors; of what is most like it, if it is not there.
  Interference beside_exchanges() const;
  // InputError where the file does not say it.
  const HostShare& host_share() const;
  double bytes_s(double bytes) const { return bytes / (memory_part * memory_rate.Bps()); }

 private:
  // Of a product that reaches `factor` of what others do; never more than the peak.
  double flop_s(double flop, Precision precision, double factor) const;
};

void check_precision(const Gpu& gpu, Precision precision, const std::string& where);

inline constexpr char gpu_schema[] = "sgdsim/gpu/1";
Gpu read_gpu(const Value& value);
Json schema_of_gpus();

}  // namespace sgdsim
