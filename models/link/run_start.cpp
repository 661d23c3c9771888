// Halving the range in which the slope of the cost passes zero.
#include "models/link/run_start.h"

#include <algorithm>

namespace sgdsim {
namespace {

// Of what the column of starts holds, the part that other columns must leave over.
constexpr double least_part = 1e-6;
constexpr int halvings = 100;

// Half the slope of the cost: constants at their best do not count in it.
double slope(const std::vector<Sums>& parts, double start_ps) {
  double sum = 0;
  for (const Sums& part : parts) {
    const Sums left = part.at_start(start_ps);
    const Solution solution = least_squares(left);
    sum -= left.start_total;
    for (std::size_t i = 0; i < unknowns; ++i) sum += solution.values[i] * left.start_products[i];
  }
  return sum;
}

}  // namespace

Sums take_empty_runs(std::vector<FitRow>& rows) {
  Sums sums;
  const auto is_empty = [](const FitRow& row) {
    return row.starts > 0 && row.alphas == 0 && row.bytes == 0 && row.folded == 0;
  };
  for (const FitRow& row : rows)
    if (is_empty(row)) sums.add(row);
  std::erase_if(rows, is_empty);
  return sums;
}

double cost_at_start(const std::vector<Sums>& parts, double start_ps) {
  double cost = 0;
  for (const Sums& part : parts) cost += least_squares(part.at_start(start_ps)).cost;
  return cost;
}

double start_information(const std::vector<Sums>& parts, double start_ps) {
  double information = 0;
  for (const Sums& part : parts) {
    const auto slopes = slopes_by_start(part, least_squares(part.at_start(start_ps)));
    information += part.start_square;
    for (std::size_t i = 0; i < unknowns; ++i) information -= slopes[i] * part.start_products[i];
  }
  return information;
}

std::optional<double> best_start_ps(const std::vector<Sums>& parts) {
  double all = 0;
  double explained = 0;
  for (const Sums& part : parts) {
    all += part.start_square;
    explained += part.start_total;
  }
  if (!(all > 0) || start_information(parts, 0) < least_part * all || slope(parts, 0) >= 0)
    return std::nullopt;
  // With no other constants at all the start would be this, and more has a rising cost.
  double low = 0;
  double high = std::max(0., explained) / all;
  for (int i = 0; i < halvings && low < high; ++i) {
    const double middle = (low + high) / 2;
    (slope(parts, middle) < 0 ? low : high) = middle;
  }
  return (low + high) / 2;
}

}  // namespace sgdsim
