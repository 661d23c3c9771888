// Chunks, roots, and which algorithm has which operation.
#include "calibrate/plan/collectives.h"

#include <algorithm>

#include "calibrate/plan/algorithms.h"
#include "sim/core/error.h"
#include "sim/core/json.h"

namespace sgdsim::calibrate {

const std::vector<CollectiveKind>& collective_kinds() {
  static const std::vector<CollectiveKind> kinds = {
      {"ring", {"allreduce", "reduce_scatter", "allgather"}, plan_ring},
      {"mst", {"broadcast", "reduce", "allreduce"}, plan_mst},
      {"be", {"broadcast", "reduce", "allreduce"}, plan_be},
      {"lp", {"broadcast", "reduce", "allreduce"}, plan_lp},
      {"direct", {"alltoall"}, plan_direct},
      {"nccl",
       {"broadcast", "reduce", "allreduce", "reduce_scatter", "allgather", "alltoall"},
       plan_nccl},
  };
  return kinds;
}

Plan plan_of(const Collective& collective) {
  std::vector<std::string> names;
  for (const CollectiveKind& kind : collective_kinds()) {
    names.push_back(kind.algorithm);
    if (kind.algorithm != collective.algorithm) continue;
    const auto& known = kind.operations;
    if (std::find(known.begin(), known.end(), collective.operation) == known.end())
      throw InputError("--operation",
                       unknown_name("operation of " + kind.algorithm, collective.operation, known));
    return kind.plan(collective);
  }
  throw InputError("--algorithm", unknown_name("algorithm", collective.algorithm, names));
}

int root_of(const Collective& collective) {
  return collective.algorithm == "lp" ? collective.ranks - 1 : 0;
}

Part part_of(const Collective& collective, int first, int count, int parts) {
  const int64_t elements = collective.bytes / collective.element_B;
  const auto start = [&](int64_t chunk) {
    return elements / parts * chunk + std::min(chunk, elements % parts);
  };
  const int64_t from = start(first);
  return {from * collective.element_B, (start(first + count) - from) * collective.element_B};
}

}  // namespace sgdsim::calibrate
