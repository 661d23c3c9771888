// NCCL beside our own: every rank makes one call, or the sends and receives of an all-to-all, and
// the library does the rest. In place, as NCCL knows it: what a rank gives to or gets from
// all-gather and reduce-scatter lies at its own chunk, and chunks are equal. An all-to-all leaves
// what comes behind the data, where the direct one does.
#include <map>

#include "calibrate/plan/algorithms.h"

namespace sgdsim::calibrate {

Plan plan_nccl(const Collective& collective) {
  static const std::map<std::string, LibraryCall> calls = {
      {"broadcast", LibraryCall::broadcast}, {"reduce", LibraryCall::reduce},
      {"allreduce", LibraryCall::allreduce}, {"reduce_scatter", LibraryCall::reduce_scatter},
      {"allgather", LibraryCall::allgather}, {"alltoall", LibraryCall::alltoall}};
  PlanWriter writer(collective.ranks, 1);
  for (int rank = 0; rank < collective.ranks; ++rank)
    writer.call(calls.at(collective.operation), writer.stream(rank), {rank, Buffer::data, 0},
                collective.bytes);
  Plan plan = writer.take();
  plan.setting = collective.setting;
  plan.in_graph = collective.in_graph;
  return plan;
}

}  // namespace sgdsim::calibrate
