// What a cluster file may say of NCCL on it, in place of the constants that NCCL's tuning model
// has: latencies and efficiencies of its pairs of algorithm and protocol, which `sgdsim fit
// --from-collective nccl` finds in logs, and the machine that they hold for.
//
// NCCL's model (models/collective/nccl_tuning.h) expects of a pair
//
//     base + so many steps inside the node * inside + so many across nodes * across
//          + bytes / (efficiency * bandwidth).
//
// What is not given is NCCL's own. When it is wrong: constants fitted to one machine, one version
// and a range of sizes say nothing of others.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "sim/core/fields.h"
#include "sim/core/units.h"

namespace sgdsim {

enum class GpuGeneration : uint8_t { volta, ampere, hopper, blackwell };
enum class IntraLink : uint8_t { nvlink, pci };
enum class CpuVendor : uint8_t { intel, amd, arm };
enum class Switched : uint8_t { off, on };

inline constexpr Named<GpuGeneration, 4> gpu_generations{{{"volta", GpuGeneration::volta},
                                                          {"ampere", GpuGeneration::ampere},
                                                          {"hopper", GpuGeneration::hopper},
                                                          {"blackwell", GpuGeneration::blackwell}}};
inline constexpr Named<IntraLink, 2> intra_links{
    {{"nvlink", IntraLink::nvlink}, {"pci", IntraLink::pci}}};
inline constexpr Named<CpuVendor, 3> cpu_vendors{
    {{"intel", CpuVendor::intel}, {"amd", CpuVendor::amd}, {"arm", CpuVendor::arm}}};
inline constexpr Named<Switched, 2> switched{{{"off", Switched::off}, {"on", Switched::on}}};
inline const auto& names_of(GpuGeneration) { return gpu_generations; }
inline const auto& names_of(IntraLink) { return intra_links; }
inline const auto& names_of(CpuVendor) { return cpu_vendors; }
inline const auto& names_of(Switched) { return switched; }

constexpr int most_nccl_nics = 64;  // of a node

// Tree and ring with three protocols each (LL, LL128, Simple); with Simple alone CollNetDirect and
// CollNetChain, NVLS, NVLSTree and PAT.
constexpr std::size_t nccl_pair_count = 11;

struct NcclPair {
  std::optional<Duration> base;
  std::optional<Duration> inside;    // one step within a node
  std::optional<Duration> across;    // one step between nodes
  std::optional<double> efficiency;  // of the bandwidth that NCCL counts with
  bool operator==(const NcclPair&) const = default;
};
using NcclPairs = std::array<NcclPair, nccl_pair_count>;

// Messages among which the constants were found.
struct NcclSizes {
  Bytes from;
  Bytes to;
  bool operator==(const NcclSizes&) const = default;
};

struct NcclConstants {
  std::optional<GpuGeneration> generation;
  std::optional<IntraLink> gpu_link;
  std::optional<Switched> nvls;
  std::optional<Switched> collnet;
  std::optional<int> nics;
  std::optional<CpuVendor> cpu;
  NcclPairs pairs;
  std::optional<NcclSizes> sizes;
};

Fields fields_of(NcclPair& o);
Fields fields_of(NcclSizes& o);
Fields fields_of(NcclConstants& o);
// As a file has them: what differs from NCCL's own.
Json to_json(const NcclConstants& constants);

// "tree_ll", "ring_ll128", "nvls_simple", ...: a pair in files.
const char* nccl_pair_key(std::size_t pair);

}  // namespace sgdsim
