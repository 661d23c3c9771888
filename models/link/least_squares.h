// Relative least squares in up to three unknowns that must not be negative.
//
// Rows are gathered as sums, so that the fit of a run of sizes costs no second look at its rows.
#pragma once

#include <array>
#include <cstddef>

#include "models/link/fit.h"

namespace sgdsim {

inline constexpr std::size_t unknowns = 3;

struct Sums {
  std::size_t rows = 0;
  double squares = 0;  // of what is to be explained: the part of t that is not known, over t
  std::array<std::array<double, unknowns>, unknowns> products{};  // of columns, each over t
  std::array<double, unknowns> totals{};  // of columns with what is to be explained
  // The same of the start of a run, a column apart: its value is one for all pieces.
  double start_square = 0;
  std::array<double, unknowns> start_products{};  // with the other columns
  double start_total = 0;

  void add(const FitRow& row);
  void add(const Sums& other);
  // What is left to explain where the start is known.
  Sums at_start(double start_ps) const;
};

struct Solution {
  std::array<double, unknowns> values{};
  std::array<bool, unknowns> used{};  // not held at zero
  double cost = 0;                    // the sum of squared relative errors
};

// The least cost over all choices of which unknowns are zero, of which there are seven. A choice
// with more unknowns must be better by more than rounding, so that columns which say the same do
// not share a value at random.
Solution least_squares(const Sums& sums);

// The variance of each value per unit of error variance; 0 for values held at zero.
std::array<double, unknowns> variances(const Sums& sums, const Solution& solution);

// How much each value falls where the start is larger by one.
std::array<double, unknowns> slopes_by_start(const Sums& sums, const Solution& solution);

// The 97.5 % point of Student's t.
double student_t(std::size_t degrees_of_freedom);

}  // namespace sgdsim
