// Machines and channels of NCCL's model, to be named in tests.
#pragma once

#include "models/collective/nccl_graph.h"

namespace sgdsim {

constexpr Bandwidth gb(double gigabytes_per_s) { return Bandwidth::Bps(gigabytes_per_s * 1e9); }

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
