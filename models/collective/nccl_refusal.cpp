// Each algorithm's conditions, then those of LL128.
#include "models/collective/nccl_refusal.h"

#include <cassert>

namespace sgdsim {
namespace {

constexpr int max_nvls_ranks = 32;    // of a node
constexpr int max_collnet_ranks = 8;  // likewise

constexpr const char* no_heads = "gathers over CollNet need a card for every GPU";

// Halves of all-reduces have each GPU send by a card of its own.
bool lacks_heads(const NcclMachine& machine, Operation operation) {
  return operation != Operation::allreduce &&
         machine.ranks > machine.collnet_direct.channels * machine.nodes;
}

const char* nvls_refusal(const NcclMachine& machine, Operation operation, NcclAlgorithm algorithm) {
  if (!machine.nvls) return "the machine has no NVLS";
  if (machine.generation < GpuGeneration::hopper) return "NVLS came with Hopper";
  if (machine.nvls_graph.channels < 2) return "NVLS needs two channels";
  if (algorithm == NcclAlgorithm::nvls_tree) {
    return machine.nodes == 1 ? "NVLSTree is for several nodes" : "";
  }
  if (machine.nodes > 1 && !machine.collnet)
    return "NVLS across nodes needs CollNet, switches that reduce: --option collnet=on";
  if (machine.nodes > 1 && lacks_heads(machine, operation)) return no_heads;
  const bool is_wide = machine.ranks > max_nvls_ranks * machine.nodes;
  return operation != Operation::allreduce && is_wide ? "NVLS has 32 ranks a node at most" : "";
}

const char* collnet_refusal(const NcclMachine& machine, Operation operation,
                            NcclAlgorithm algorithm) {
  if (!machine.collnet) return "the network has no CollNet";
  if (machine.nodes == 1) return "CollNet is for several nodes";
  if (machine.ranks > max_collnet_ranks * machine.nodes)
    return "CollNet has 8 ranks a node at most";
  if (algorithm == NcclAlgorithm::collnet_chain) return "";
  if (machine.link != IntraLink::nvlink || !machine.switched)
    return "CollnetDirect needs NVLink switches";
  return lacks_heads(machine, operation) ? no_heads : "";
}

const char* algorithm_refusal(const NcclMachine& machine, Operation operation,
                              NcclAlgorithm algorithm) {
  const bool is_allreduce = operation == Operation::allreduce;
  const bool is_half = operation == Operation::reduce_scatter || operation == Operation::allgather;
  switch (algorithm) {
    case NcclAlgorithm::tree:
      return is_allreduce ? "" : "NCCL has trees for allreduce only";
    case NcclAlgorithm::ring:
      return "";
    case NcclAlgorithm::collnet_direct:
      if (!is_allreduce && !is_half) return "CollNet has no broadcast and no reduce";
      return collnet_refusal(machine, operation, algorithm);
    case NcclAlgorithm::collnet_chain:
      if (!is_allreduce) return "CollnetChain is for allreduce only";
      return collnet_refusal(machine, operation, algorithm);
    case NcclAlgorithm::nvls:
      if (!is_allreduce && !is_half) return "NVLS has no broadcast and no reduce";
      return nvls_refusal(machine, operation, algorithm);
    case NcclAlgorithm::nvls_tree:
      if (!is_allreduce) return "NVLSTree is for allreduce only";
      return nvls_refusal(machine, operation, algorithm);
    case NcclAlgorithm::pat:
      if (!is_half) return "PAT is for reduce_scatter and allgather only";
      return machine.ranks == machine.nodes ? "" : "PAT needs one rank per node";
  }
  assert(false);
  return "";
}

// LL128 relies on 128 bytes arriving as one, which NVLink keeps and PCI does not promise.
const char* ll128_refusal(const NcclMachine& machine) {
  const bool leaves_gpu = machine.ranks > machine.nodes;
  if (leaves_gpu && machine.link != IntraLink::nvlink) return "LL128 needs NVLink";
  const bool is_recent = machine.generation >= GpuGeneration::hopper;
  const NicPath farthest = is_recent ? NicPath::pxn : NicPath::pxb;
  if (machine.nodes > 1 && machine.nic_path > farthest) return "LL128 needs a NIC near the GPU";
  return "";
}

}  // namespace

const char* nccl_refusal(const NcclMachine& machine, Operation operation, NcclAlgorithm algorithm,
                         NcclProtocol protocol) {
  const char* const refusal = algorithm_refusal(machine, operation, algorithm);
  return *refusal == '\0' && protocol == NcclProtocol::ll128 ? ll128_refusal(machine) : refusal;
}

}  // namespace sgdsim
