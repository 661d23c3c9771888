// Constants of NCCL's tuning model from measured times of its collectives.
//
// What a collective takes is what the model expects of the pair of algorithm and protocol that is
// fastest at these constants: its base latency, its steps inside a node and across nodes, its part
// of the bandwidth. The logarithms of all constants over NCCL's own are found together:
//
//     minimise   sum over rows of w (log(model / measured) / scatter)^2  +  x' C^-1 x
//
// by Gauss and Newton's steps, damped so that no step makes it worse. The second term says how far
// NCCL's constants may be off before a log is seen: those of one kind (say, steps across nodes)
// are off together, by a factor that they share, and each by itself. So a pair that a log does not
// show moves with those that it shows, and what a log tells as a sum only (with one number of
// nodes, latencies inside and across) is divided in NCCL's own proportion. The scatter is what the
// rows leave; rows that are off by more than 20 % weigh less.
//
// Intervals of 95 % follow from the curvature at the result. They are wrong where the model is:
// times of LL grow with the size already where NCCL's model says that they do not, and the choice
// of real versions of NCCL differs from the fastest pair.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "models/collective/nccl_tuning.h"

namespace sgdsim {

struct NcclFitRow {
  NcclMachine machine;  // its pairs do not count
  Operation operation = Operation::allreduce;
  Bytes size;
  double time_ps = 0;  // above 0
  double weight = 1;
  // What NCCL was told to take; without both it took the fastest, as it thinks.
  std::optional<NcclAlgorithm> algorithm = {};
  std::optional<NcclProtocol> protocol = {};
};

// Whether NCCL's model has a pair for a row that suits what is stated.
bool has_pair(const NcclFitRow& row);

enum class NcclConstant : uint8_t { base, inside, across, efficiency };

// What a log says of a constant: itself; a sum with others; nothing, but it says something of its
// kind; nothing at all, so that it is NCCL's own.
enum class NcclKnown : uint8_t { told, in_sums, as_others, kept };

// Latencies in microseconds.
struct NcclEstimate {
  std::size_t pair = 0;
  NcclConstant constant = NcclConstant::base;
  double own = 0;
  double value = 0;
  double low = 0;
  double high = 0;
  NcclKnown known = NcclKnown::kept;
};

struct NcclFit {
  NcclPairs pairs;
  std::vector<NcclEstimate> estimates;  // of every constant that these machines may use
  double scatter = 0;                   // relative, of rows about the model

  // The row that NCCL's model takes for it, with its time.
  NcclRow predict(const NcclFitRow& row) const;
};

// InputError if there are no rows, or if NCCL's model cannot have one. Every row must have a pair.
NcclFit fit_nccl_constants(const std::vector<NcclFitRow>& rows);

}  // namespace sgdsim
