// One machine as a NCCL topology file describes it, with NCCL's rates in GB/s. Reading the XML
// (nccl_machine.cpp) is kept apart from writing the cluster file (nccl_xml.cpp).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/net/nccl_constants.h"

namespace sgdsim {

struct NcclPort {
  double GBps = 0;
  double latency_us = 0;  // what the port adds by itself
};

// A vertex of the PCIe tree. Index 0.. in the order of the file; a parent comes before its
// children.
struct NcclDevice {
  enum class Kind { cpu, pcie_switch, gpu, nic };
  Kind kind = Kind::cpu;
  std::string bus_id;           // in lower case; CPUs have none
  int parent = -1;              // CPUs have none
  double up_GBps = 0;           // of the link to the parent
  double cpu_GBps = 0;          // of a CPU to the other CPUs
  int rank = -1;                // of a GPU; of a NIC, the number of its first port
  double nvswitch_GBps = 0;     // of a GPU to all NVSwitches together
  double cpu_nvlink_GBps = 0;   // of a GPU to its CPU, by NVLink or C2C
  std::vector<NcclPort> ports;  // of a NIC
  int card = -1;                // of a GPU: the NIC by which it sends (nccl_cards.h)
};

// NVLinks or xGMI links from one GPU straight to another, as the first one reports them.
struct NcclPeerLink {
  int from = 0;
  int to = 0;
  double GBps = 0;
};

struct TopologyMachine {
  std::vector<NcclDevice> devices;
  std::vector<NcclPeerLink> peer_links;
  std::vector<int> gpus;                    // device numbers by rank; those without rank last
  std::vector<int> nics;                    // likewise by number
  std::optional<GpuGeneration> generation;  // the oldest of NVIDIA's GPUs, if the file says it
  std::optional<int> capability;            // of it, as NCCL writes it: 90
  std::string architecture;                 // of AMD's first GPU: gfx942
  std::optional<CpuVendor> cpu;             // of the first CPU, likewise
  // Named by their place alone, as in files that people write for NCCL to read.
  std::size_t bare_gpus = 0;
  std::size_t bare_cards = 0;
  std::vector<std::string> notes;
  // Whether it is such a file: what hangs at the places is found by NCCL.
  bool is_input() const { return bare_gpus == gpus.size(); }
};

inline const NcclDevice& device_at(const TopologyMachine& machine, int number) {
  return machine.devices[static_cast<std::size_t>(number)];
}
inline NcclDevice& device_at(TopologyMachine& machine, int number) {
  return machine.devices[static_cast<std::size_t>(number)];
}

TopologyMachine read_nccl_machine(std::string_view text, const std::string& file);

}  // namespace sgdsim
