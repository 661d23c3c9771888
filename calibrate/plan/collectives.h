// The collectives that are measured: each is a plan, the same one for every backend.
//
// They follow the schedules that the simulator plays under the same names: binomial trees (mst),
// MPICH's bidirectional exchange (be), the chain of blocks of the linear pipeline (lp), the ring,
// and the direct all-to-all. Beside them stands NCCL, where the machine has it.
#pragma once

#include <string>
#include <vector>

#include "calibrate/plan/plan.h"

namespace sgdsim::calibrate {

struct Collective {
  std::string algorithm;
  std::string operation;
  int ranks = 2;
  int64_t bytes = 0;  // of the whole message; of allgather and reduce_scatter those of all ranks
  int64_t element_B = 4;  // messages are cut between elements
  int64_t block_B = 0;    // lp
  // lp: blocks are summed in a stream of their own, while the next one arrives.
  bool overlaps = false;
  LibrarySetting setting = {};  // nccl
  bool in_graph = false;        // nccl
};

struct CollectiveKind {
  std::string algorithm;
  std::vector<std::string> operations;
  Plan (*plan)(const Collective& collective) = nullptr;
};
const std::vector<CollectiveKind>& collective_kinds();

// InputError if the algorithm is unknown or has no such operation.
Plan plan_of(const Collective& collective);

// The rank at which reductions end and from which broadcasts start: the end of the chain for lp.
int root_of(const Collective& collective);

// Where a rank of an all-to-all finds what it got from another one.
Place taken_at(const Collective& collective, int rank, int sender);

// The part of the message that belongs to a chunk: the first n mod P chunks have one element more.
struct Part {
  int64_t at_B = 0;
  int64_t bytes = 0;
};
Part part_of(const Collective& collective, int first, int count, int parts);

}  // namespace sgdsim::calibrate
