// Normal equations of at most three columns, scaled to a unit diagonal before they are solved.
#include "models/link/least_squares.h"

#include <cmath>
#include <optional>

namespace sgdsim {
namespace {

using Vector = std::array<double, unknowns>;
using Matrix = std::array<Vector, unknowns>;
using Choice = std::array<bool, unknowns>;

// Fewer unknowns first, and beta before gamma: of columns that say the same, the first is taken.
constexpr std::array<Choice, 7> choices{{{true, false, false},
                                         {false, true, false},
                                         {false, false, true},
                                         {true, true, false},
                                         {true, false, true},
                                         {false, true, true},
                                         {true, true, true}}};

// Below this the scaled columns are the same but for rounding.
constexpr double least_pivot = 1e-9;
// A better cost by less than this part of the rows is rounding.
constexpr double rounding = 1e-12;

// The inverse of the scaled matrix of the chosen columns, identity elsewhere; empty if singular.
struct Scaled {
  Vector scale{};
  Matrix inverse{};
};
std::optional<Scaled> invert(const Sums& sums, const Choice& choice) {
  Scaled scaled;
  Matrix left{};
  for (std::size_t i = 0; i < unknowns; ++i) {
    const double diagonal = sums.products[i][i];
    if (choice[i] && !(diagonal > 0)) return std::nullopt;
    scaled.scale[i] = choice[i] ? 1 / std::sqrt(diagonal) : 0;
    scaled.inverse[i][i] = 1;
  }
  for (std::size_t i = 0; i < unknowns; ++i)
    for (std::size_t j = 0; j < unknowns; ++j)
      left[i][j] = i == j ? 1 : sums.products[i][j] * scaled.scale[i] * scaled.scale[j];
  // Gauss and Jordan; the matrix is positive definite, so that the diagonal serves as pivot.
  for (std::size_t k = 0; k < unknowns; ++k) {
    const double pivot = left[k][k];
    if (pivot < least_pivot) return std::nullopt;
    for (std::size_t j = 0; j < unknowns; ++j) {
      left[k][j] /= pivot;
      scaled.inverse[k][j] /= pivot;
    }
    for (std::size_t i = 0; i < unknowns; ++i) {
      if (i == k) continue;
      const double factor = left[i][k];
      for (std::size_t j = 0; j < unknowns; ++j) {
        left[i][j] -= factor * left[k][j];
        scaled.inverse[i][j] -= factor * scaled.inverse[k][j];
      }
    }
  }
  return scaled;
}

double cost_of(const Sums& sums, const Vector& values) {
  double cost = sums.squares;
  for (std::size_t i = 0; i < unknowns; ++i) {
    cost -= 2 * values[i] * sums.totals[i];
    for (std::size_t j = 0; j < unknowns; ++j) cost += values[i] * sums.products[i][j] * values[j];
  }
  return std::max(0., cost);
}

std::optional<Solution> solve(const Sums& sums, const Choice& choice) {
  const auto scaled = invert(sums, choice);
  if (!scaled) return std::nullopt;
  Solution solution;
  solution.used = choice;
  for (std::size_t i = 0; i < unknowns; ++i) {
    for (std::size_t j = 0; j < unknowns; ++j)
      solution.values[i] +=
          scaled->scale[i] * scaled->inverse[i][j] * scaled->scale[j] * sums.totals[j];
    if (solution.values[i] < 0) return std::nullopt;
  }
  solution.cost = cost_of(sums, solution.values);
  return solution;
}

}  // namespace

void Sums::add(const FitRow& row) {
  const double root = std::sqrt(row.weight);
  const Vector column{root * row.alphas / row.time_ps, root * row.bytes / row.time_ps,
                      root * row.folded / row.time_ps};
  const double unexplained = root * (1 - row.known_ps / row.time_ps);
  const double start = root * row.starts / row.time_ps;
  ++rows;
  squares += unexplained * unexplained;
  start_square += start * start;
  start_total += start * unexplained;
  for (std::size_t i = 0; i < unknowns; ++i) {
    totals[i] += column[i] * unexplained;
    start_products[i] += column[i] * start;
    for (std::size_t j = 0; j < unknowns; ++j) products[i][j] += column[i] * column[j];
  }
}

void Sums::add(const Sums& other) {
  rows += other.rows;
  squares += other.squares;
  start_square += other.start_square;
  start_total += other.start_total;
  for (std::size_t i = 0; i < unknowns; ++i) {
    totals[i] += other.totals[i];
    start_products[i] += other.start_products[i];
    for (std::size_t j = 0; j < unknowns; ++j) products[i][j] += other.products[i][j];
  }
}

Sums Sums::at_start(double start_ps) const {
  Sums left = *this;
  left.squares += start_ps * (start_ps * start_square - 2 * start_total);
  left.squares = std::max(0., left.squares);
  left.start_total -= start_ps * start_square;
  for (std::size_t i = 0; i < unknowns; ++i) left.totals[i] -= start_ps * start_products[i];
  return left;
}

Solution least_squares(const Sums& sums) {
  Solution best;
  best.cost = sums.squares;
  for (const Choice& choice : choices) {
    const auto solution = solve(sums, choice);
    if (solution && solution->cost < best.cost - rounding * static_cast<double>(sums.rows))
      best = *solution;
  }
  return best;
}

std::array<double, unknowns> variances(const Sums& sums, const Solution& solution) {
  std::array<double, unknowns> answer{};
  const auto scaled = invert(sums, solution.used);
  if (!scaled) return answer;
  for (std::size_t i = 0; i < unknowns; ++i)
    answer[i] = scaled->scale[i] * scaled->scale[i] * scaled->inverse[i][i];
  return answer;
}

std::array<double, unknowns> slopes_by_start(const Sums& sums, const Solution& solution) {
  std::array<double, unknowns> answer{};
  const auto scaled = invert(sums, solution.used);
  if (!scaled) return answer;
  for (std::size_t i = 0; i < unknowns; ++i)
    for (std::size_t j = 0; j < unknowns; ++j)
      answer[i] +=
          scaled->scale[i] * scaled->inverse[i][j] * scaled->scale[j] * sums.start_products[j];
  return answer;
}

double student_t(std::size_t degrees_of_freedom) {
  constexpr std::array<double, 10> few{12.706, 4.303, 3.182, 2.776, 2.571,
                                       2.447,  2.365, 2.306, 2.262, 2.228};
  if (degrees_of_freedom <= few.size()) return few[degrees_of_freedom - 1];
  // Cornish and Fisher's expansion around the normal distribution; right to 1e-3 from 11 on.
  const double z = 1.959964;
  const auto n = static_cast<double>(degrees_of_freedom);
  const double z3 = z * z * z;
  return z + (z3 + z) / (4 * n) + (5 * z3 * z * z + 16 * z3 + 3 * z) / (96 * n * n);
}

}  // namespace sgdsim
