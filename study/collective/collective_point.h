// One point: an algorithm, a number of ranks and one or several messages, and the answer to that.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "models/collective/nccl_tuning.h"
#include "models/collective/simulate.h"
#include "study/collective/collective_options.h"

namespace sgdsim {

// Messages that stand for NCCL's choice: options of their algorithm, and the least that one takes.
struct StandsForNccl {
  std::vector<std::string> options;
  Duration latency;
};

struct CollectivePoint {
  std::string algorithm;  // as it was asked for, which may be "auto" or "nccl"
  std::string operation;
  std::string cluster;
  int ranks = 0;
  std::vector<Bytes> sizes;
  std::optional<CollectiveAnswer> answer;
  std::string why_not;            // if there is no answer
  std::optional<NcclTable> nccl;  // if NCCL's model answered
  // For tables, what of its time is adding up values: the same without it takes less by this.
  std::optional<Duration> reducing;
  std::optional<StandsForNccl> stands_for_nccl = {};

  Bytes total() const;
};

// What the command line asks for without --sweep. InputError where there is no answer.
CollectivePoint single_point(const CollectiveArguments& arguments);

// All points of a sweep: algorithms change fastest, then sizes, then ranks. An option, or a block
// size, counts for the algorithms that read it; it must have an effect on one of them at least. A
// point without an answer says why; InputError if no point has one.
std::vector<CollectivePoint> sweep_points(const CollectiveArguments& arguments);

// The algorithms of a sweep, "all" spelled out.
std::vector<std::string> algorithms_of(const CollectiveArguments& arguments);
// Points of a sweep that have the same ranks and size.
std::size_t columns_of(const CollectiveArguments& arguments);

// What is left of the arguments for one algorithm of several.
CollectiveArguments arguments_for(const CollectiveArguments& arguments,
                                  const std::string& algorithm);

}  // namespace sgdsim
