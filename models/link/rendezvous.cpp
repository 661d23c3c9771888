// Every place between two sizes is tried with a single line, and the best one with as many pieces
// as are asked for.
#include "models/link/rendezvous.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "models/link/least_squares.h"

namespace sgdsim {
namespace {

constexpr double start_ups = 3;  // of a message that waits

RendezvousSize between(double eager_B, double waits_B) {
  const double power_B = std::exp2(std::floor(std::log2(waits_B)));
  return {power_B > eager_B ? power_B : waits_B, eager_B, waits_B};
}

}  // namespace

bool are_one_way(const std::vector<FitRow>& rows) {
  return std::all_of(rows.begin(), rows.end(), [](const FitRow& row) {
    return row.alphas == 1 && row.bytes == row.size_B && row.folded == 0;
  });
}

std::vector<FitRow> with_rendezvous(std::vector<FitRow> rows, double from_B) {
  for (FitRow& row : rows)
    if (row.size_B >= from_B) row.alphas *= start_ups;
  return rows;
}

std::optional<RendezvousSize> find_rendezvous(const std::vector<FitRow>& rows, int pieces) {
  std::map<double, std::vector<FitRow>> by_size;
  for (const FitRow& row : rows) by_size[row.size_B].push_back(row);
  const std::size_t count = by_size.size();
  if (count < 4) return std::nullopt;
  std::vector<double> sizes;
  std::vector<Sums> below(count + 1);  // of the sizes before each, which do not wait
  std::vector<Sums> above(count + 1);  // of it and those behind it, which do
  for (const auto& [size_B, same] : by_size) {
    sizes.push_back(size_B);
    for (const FitRow& row : same) below[sizes.size()].add(row);
    for (const FitRow& row : with_rendezvous(same, 0)) above[sizes.size() - 1].add(row);
  }
  for (std::size_t i = 0; i < count; ++i) {
    below[i + 1].add(below[i]);
    above[count - 1 - i].add(above[count - i]);
  }
  std::size_t best = 2;
  double least = std::numeric_limits<double>::infinity();
  for (std::size_t i = 2; i + 1 < count; ++i) {
    Sums line = below[i];
    line.add(above[i]);
    const double cost = least_squares(line).cost;
    if (cost < least) best = i;
    least = std::min(least, cost);
  }
  const double of_step = std::log(static_cast<double>(rows.size()));  // one more number
  const Fit with = fit_pieces(with_rendezvous(rows, sizes[best]), pieces);
  if (with.criterion + of_step >= fit_pieces(rows, pieces).criterion) return std::nullopt;
  return between(sizes[best - 1], sizes[best]);
}

}  // namespace sgdsim
