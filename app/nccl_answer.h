// `--algorithm nccl`: what NCCL's own tuning model would choose on this cluster.
#pragma once

#include <vector>

#include "app/collective_options.h"
#include "app/commands.h"

namespace sgdsim {

// The machine comes from the cluster (workers per node, costs of pairs inside and across nodes) and
// from --option generation=, nics=, cpu=, gpu_link=, nvls=.
void answer_like_nccl(const CollectiveArguments& arguments, const Cluster& cluster,
                      const std::vector<Bytes>& messages, Streams streams);

}  // namespace sgdsim
