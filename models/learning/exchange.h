// What becomes of the workers' gradients on the way to the update: selected, rounded, factorised,
// summed, with what is left kept by each worker.
//
// Sums go over the workers in the order of their ranks; where nothing is left out (density 1),
// every selection is the plain sum, to the bit.
#pragma once

#include <cstdint>
#include <vector>

#include "models/learning/compressing.h"
#include "models/learning/task.h"

namespace sgdsim::learning {

template <class Real>
class Exchange {
 public:
  using Vector = std::vector<Real>;

  Exchange(Compressing compressing, std::vector<Tensor> tensors, int workers, uint64_t seed);

  // The sum of what all workers send; the gradients become what each of them has sent. `ranks`:
  // whose gradients these are, if not those of all: as if there were no others.
  void sum(std::vector<Vector>& gradients, int64_t iteration, Vector& sum,
           const std::vector<int>& ranks = {});
  // What the worker has not sent yet is lost.
  void forget(int worker);
  // What one worker sends, where each sends by itself; else an assertion fails.
  void send(int worker, Vector& gradient, int64_t iteration);
  bool compresses() const { return compressing_.numbers != Numbers::all; }
  // Whether `send` is defined.
  bool is_of_each() const;

  // What a worker has not sent yet; empty where it keeps nothing.
  const Vector& residual(int worker) const { return residuals_[static_cast<std::size_t>(worker)]; }
  bool keeps_residuals() const { return !residuals_.empty(); }
  // Whether some elements are sent in this iteration and others are not, as momentum that is
  // corrected has to know; what is rounded or factorised is sent as a whole.
  bool selects(int64_t iteration) const;

 private:
  void add_residual(int worker, Vector& gradient) const;
  void keep_rest(int worker, const Vector& whole, const Vector& sent);
  void compress(int worker, Vector& gradient, int64_t iteration) const;
  void keep_largest(Vector& values, std::size_t k) const;
  void keep_random(Vector& values, double density, int64_t iteration) const;
  void round_at_random(int worker, Vector& values, int64_t iteration) const;
  void merge(std::vector<Vector>& sent, std::size_t k, Vector& sum) const;
  void factorise(std::vector<Vector>& gradients, Vector& sum);
  bool is_whole(int64_t iteration) const;

  Compressing compressing_;
  std::vector<Tensor> tensors_;
  std::size_t size_;
  uint64_t seed_;
  std::vector<Vector> residuals_;  // per worker
  std::vector<Vector> factors_;    // powersgd: Q of each tensor, columns x rank
};

// The rank that PowerSGD gives a tensor: 0 if it is sent as it is.
std::size_t rank_of(const Tensor& tensor, int rank);

// PowerSGD's step on one matrix per worker (rows x columns): Q is what it was, and becomes what it
// is next; `whole` gets P Q^T. Returns P (rows x rank).
template <class Real>
std::vector<Real> power_step(const std::vector<const Real*>& matrices, const Tensor& shape,
                             std::size_t rank, std::vector<Real>& q, Real* whole);

}  // namespace sgdsim::learning
