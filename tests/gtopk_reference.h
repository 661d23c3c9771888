// gTop-k on real vectors, as published: what is sent to whom in which round, what the sum is, and
// what every worker keeps. Written from the description of the algorithm, not from the simulator.
#pragma once

#include <vector>

namespace sgdsim {

struct SparseEntry {
  int index = 0;
  double value = 0;
};
using SparseVector = std::vector<SparseEntry>;
using DenseVector = std::vector<double>;

struct SentList {
  int round = 0;
  int from = 0;
  int to = 0;
  int entries = 0;
};

enum class PutBack {
  global_absence,  // what is not in the global set returns to the residual (published)
  survival         // what was ever dropped returns (the recursive variant's mask)
};

struct GtopkOutcome {
  SparseVector global;                 // the k largest sums that survive the tree
  std::vector<DenseVector> residuals;  // per worker, after the exchange
  std::vector<SentList> sent;          // up the tree, then down
  double leak = 0;  // part of the local selections' magnitude that is neither summed nor kept
};

// The k entries of largest magnitude; equal ones by lower index.
SparseVector top_k(SparseVector candidates, int k);
SparseVector top_k(const DenseVector& vector, int k);
// Sums equal indices. A duplicate stays as an entry of value 0, as in the published code, so that a
// list never has fewer than k entries.
SparseVector merge(const SparseVector& a, const SparseVector& b, int k);
// Every worker's gradient (with its residual already added) through selection, tree and broadcast.
GtopkOutcome gtopk(const std::vector<DenseVector>& gradients, int k, PutBack put_back);
// The same by exchanging with rank ^ 2^i; a power of two of workers.
SparseVector gtopk_butterfly(const std::vector<DenseVector>& gradients, int k);
// All selections of all workers, summed.
DenseVector sum_of_selections(const std::vector<DenseVector>& gradients, int k);

}  // namespace sgdsim
