// How many iterations fewer samples cost: S(B) = S_min (1 + B_crit / B), from lessons with several
// numbers of samples (McCandlish and others, An Empirical Model of Large-Batch Training, 2018).
//
// Fitted by least squares in 1 / B: S_min is where the line meets 1 / B = 0, S_min B_crit its
// slope. Intervals of 95 % follow from what the line leaves: Student's t, and for B_crit, a ratio,
// Fieller's theorem, which knows that its upper end can be anywhere when S_min might be nothing.
// They are wrong where the numbers of iterations have errors in common.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace sgdsim {

struct BatchLaw {
  double least_iterations = 0;  // S_min: with very many samples
  double critical_batch = 0;    // B_crit: with so many samples twice as many iterations

  double iterations(double samples) const {
    return least_iterations * (1 + critical_batch / samples);
  }
  // Of all iterations together, B S(B); at least `least_samples`, with very few at once.
  double samples(double batch) const { return batch * iterations(batch); }
  double least_samples() const { return least_iterations * critical_batch; }
};

struct BatchRow {
  double samples = 1;  // of an iteration
  double iterations = 1;
};

struct BatchInterval {
  double low = 0;
  std::optional<double> high = {};  // none: no bound
};

struct BatchFit {
  std::optional<BatchLaw> law = {};
  std::string why_not = {};  // there is no law, in a sentence
  bool is_below = false;     // because all rows are below the critical batch
  BatchInterval least_iterations = {};
  BatchInterval critical_batch = {};
};

inline constexpr std::size_t least_batches = 3;

// Rows with different numbers of samples.
BatchFit fit_batch_law(const std::vector<BatchRow>& rows);

}  // namespace sgdsim
