// Recorded steps as work that can be played again: what each operation waits for, and how long it
// takes once it begins.
//
// The rules are those of arXiv 2505.05713, for steps of Megatron: passes of a stage run in the
// order of their recorded starts, sends and receives of each kind in theirs; a receive waits for
// the pass before (there is one buffer), its pass waits for it, and a send waits for its pass.
// Weights are gathered before the first forward pass of their chunk; after the last pass come
// collection, layer norms, embedding, gradients, clipping and the optimizer. Exchanges of weights
// and gradients wait for the one before, unless they lie beside it. A computation takes what was
// recorded. An exchange begins when the last of its group does; what a member takes from then on is
// its transfer, and what it took before was waiting. What the CPU does between operations is not in
// a record, so it is dropped; Diagnosis::launch says how much that was.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "sim/core/units.h"
#include "sim/work/step_record.h"

namespace sgdsim::diagnose {

struct Node {
  int32_t step = 0;  // index among the steps that were kept
  int32_t worker = 0;
  int32_t chunk = 0;
  int32_t micro_batch = -1;
  int32_t peer = -1;  // of sends and receives: the worker on the other side
  Recorded kind = Recorded::forward;
  int32_t type = 0;  // operations of one type are alike
};

struct StepWork {
  int replicas = 1;
  int stages = 1;
  std::vector<Recorded> types;        // the kind of each type
  std::vector<int64_t> steps;         // that were kept
  std::vector<Duration> measured;     // of each: what it took (recorded_times of step_shape.h)
  std::vector<Duration> longest;      // of each: of the worker that took longest
  std::vector<Node> nodes;            // in an order in which they can be played
  std::vector<Duration> recorded;     // of each node: computing, or transfer
  std::vector<Duration> waited;       // of each node: for the others of its group
  std::vector<uint32_t> group_first;  // nodes of a group begin together; one more at the end
  std::vector<uint32_t> waits_first;  // of each group, likewise
  std::vector<uint32_t> waits;        // nodes
  std::vector<uint32_t> step_first;   // group of each step, likewise
  std::vector<std::string> left_out;  // a sentence for each step that could not be used
  int64_t early_ends = 0;             // transfers that ended before their group began
  struct EndDifference {
    int32_t worker = 0;
    int32_t other = 0;
    int64_t ns = 0;        // by which the other one's clock said more at the end of an exchange
    int64_t early_ns = 0;  // by which one of them ended before the other began; below 0: it did not
    int64_t shorter_ns = 0;  // the shorter of the two
  };
  std::vector<EndDifference> end_differences;

  int workers() const { return replicas * stages; }
  int stage_of(int worker) const { return worker % stages; }
  int replica_of(int worker) const { return worker / stages; }
};

// Of two members of a group.
StepWork::EndDifference end_difference(const StepRecord& record, const RecordedOperation& first,
                                       const RecordedOperation& other);

// InputError if no step can be used.
StepWork work_of(const StepRecord& record);

// The same steps of a job with another number of replicas: the first ones, or all of them over and
// over. What replicas exchange takes the part of the recorded time that a ring among so many would;
// at least two were recorded, or there are no more.
StepWork with_replicas(const StepWork& work, int replicas);

// How long each step takes if the nodes take these lengths.
std::vector<Duration> play(const StepWork& work, std::span<const Duration> lengths);
// Their mean, in seconds.
double played_s(const StepWork& work, std::span<const Duration> lengths);

}  // namespace sgdsim::diagnose
