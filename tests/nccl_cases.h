// Machines and channels of NCCL's model, to be named in tests.
#pragma once

#include "models/collective/nccl_graph.h"

namespace sgdsim {

inline NcclGraph graph(int channels, double intra_GBps, double inter_GBps) {
  return {channels, Bandwidth::Bps(intra_GBps * 1e9), Bandwidth::Bps(inter_GBps * 1e9)};
}

inline NcclMachine machine(int ranks, int nodes, GpuGeneration generation) {
  NcclMachine made;
  made.ranks = ranks;
  made.nodes = nodes;
  made.generation = generation;
  return made;
}

}  // namespace sgdsim
