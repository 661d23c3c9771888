// Every place between two sizes is tried.
#include "models/link/rendezvous.h"

#include <algorithm>
#include <cmath>
#include <set>

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
  std::set<double> distinct;
  for (const FitRow& row : rows) distinct.insert(row.size_B);
  const std::vector<double> sizes(distinct.begin(), distinct.end());
  if (sizes.size() < 4) return std::nullopt;
  const double of_step = std::log(static_cast<double>(rows.size()));  // one more number
  double least = fit_pieces(rows, pieces).criterion - of_step;
  std::optional<RendezvousSize> found;
  for (std::size_t i = 2; i + 1 < sizes.size(); ++i) {
    const double criterion = fit_pieces(with_rendezvous(rows, sizes[i]), pieces).criterion;
    if (criterion >= least) continue;
    least = criterion;
    found = between(sizes[i - 1], sizes[i]);
  }
  return found;
}

}  // namespace sgdsim
