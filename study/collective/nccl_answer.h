// `--algorithm nccl`: what NCCL's own tuning model would choose on this cluster.
#pragma once

#include <ostream>
#include <string>
#include <vector>

#include "models/collective/nccl_tuning.h"
#include "models/collective/options.h"
#include "models/collective/simulate.h"
#include "study/collective/collective_options.h"

namespace sgdsim {

// The keys of --option that describe the machine to NCCL.
const std::vector<OptionKey>& nccl_option_keys();
bool is_nccl_option(const std::string& option);

// The machine that NCCL's model sees: workers per node, cards and costs of pairs from the cluster,
// with what its file says of NCCL; the rest from options written key=value.
NcclMachine nccl_machine_of(const Cluster& cluster, const std::vector<std::string>& options);

// Of GPUs that it does not know, whose generation no option says; else empty.
std::string nccl_note(const Cluster& cluster, const std::vector<std::string>& options);

// The same cluster with so many workers: its first ones, or, with a note, more nodes like its own,
// which it must be able to have (with_more).
Cluster cluster_among(const Cluster& cluster, int ranks);

struct NcclAnswer {
  CollectiveAnswer answer;  // of all messages, one after the other; candidates if it is one
  NcclTable table;          // of the largest one
};

// The machine comes from the cluster (workers per node, costs of pairs inside and across nodes) and
// from the options. The answer knows no messages: NCCL's model is a formula.
NcclAnswer answer_like_nccl(const CollectiveArguments& arguments, const Cluster& cluster,
                            const std::vector<Bytes>& messages);

// Where messages are asked for, the algorithm that sends them in place of what NCCL's model
// chooses.
struct SimulatedForNccl {
  std::string algorithm;
  std::string option;  // of it; empty: none
  Duration latency;    // of what NCCL chooses
  std::vector<std::string> warnings;
};
SimulatedForNccl simulated_for_nccl(const CollectiveArguments& arguments, const Cluster& cluster,
                                    const std::vector<Bytes>& messages);

// "Ring/Simple": algorithm and protocol, in NCCL's spelling.
std::string pair_name(const NcclRow& row);

// Latency, bandwidth and time of every pair, as NCCL_DEBUG_SUBSYS=TUNING would list them.
void print_nccl_table(std::ostream& out, const NcclTable& table);

}  // namespace sgdsim
