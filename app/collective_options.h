// The options of `sgdsim collective` as the command line gives them, and what they ask for.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "models/collective/nccl_tuning.h"
#include "models/collective/simulate.h"

namespace sgdsim {

struct CollectiveArguments {
  std::string algorithm = "ring";
  std::string operation = "allreduce";
  std::string ranks;
  std::vector<std::string> bytes;
  std::string block;
  std::string root;
  std::string cluster;
  std::string alpha;
  std::string beta;
  std::string gamma;
  std::vector<std::string> settings;  // --set, on the cluster
  std::vector<std::string> options;   // --option key=value
  std::string fidelity = "message";
  std::string path = "fastest";
  std::string starts;
  double jitter = 0;
  uint64_t seed = 1;
  bool sweep = false;
  std::string format = "table";
};

void add_options(CLI::App& command, CollectiveArguments& arguments);

// The cluster that --cluster, or --alpha, --beta and --gamma, describe; with all its workers, or
// `ranks` where only a pair cost is given.
Cluster cluster_of(const CollectiveArguments& arguments, int ranks);

// One question per message list; `where` of its errors names the option.
CollectiveQuestion question_of(const CollectiveArguments& arguments, const std::string& algorithm,
                               const std::vector<Bytes>& messages);

// The ranks to simulate: one value, or those of a sweep; all workers of the cluster if not given.
std::vector<int> ranks_of(const CollectiveArguments& arguments);

}  // namespace sgdsim
