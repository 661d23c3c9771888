// Import of a NCCL topology file (NCCL_TOPO_DUMP_FILE, NCCL_TOPO_FILE) as a cluster file.
//
// The XML is the tree of one machine: CPUs (NUMA domains), PCIe switches, GPUs with their NVLinks,
// NICs with their ports. Rates become GB/s as in NCCL's topo.cc. A machine whose GPUs all hang
// alike at NVSwitches, or are joined each to each alike, and send by cards alike (nccl_cards.h)
// becomes an `nvlink_box`, any other one an `explicit` graph; `nodes` machines of the kind are
// joined by one non-blocking switch.
//
// The file holds no latencies except those of ports. The others are taken from NCCL's tuning model:
// a pair pays 0.6 us over NVLink, 1 us over PCIe, 2.7 us over the network (its LL ring figures).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "sim/core/json.h"

namespace sgdsim {

struct NcclImportOptions {
  int nodes = 1;
  std::string name = "imported";
};

struct NcclImport {
  Json cluster;                    // sgdsim/cluster/1
  std::vector<std::string> notes;  // what was ignored or assumed, for the user to read
};

// `file` is what errors name.
NcclImport import_nccl_xml(std::string_view text, const std::string& file,
                           const NcclImportOptions& options);

}  // namespace sgdsim
