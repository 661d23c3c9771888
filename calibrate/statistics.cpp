// Order statistics. The interval from the k-th smallest to the k-th largest of n values holds the
// median with probability 1 - 2 P(Binomial(n, 1/2) < k).
#include "calibrate/statistics.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "sim/core/nearest_rank.h"

namespace sgdsim::calibrate {
namespace {

// The largest k, from 1, with P(Binomial(n, 1/2) < k) <= 2.5 %; 0 if there is none.
std::size_t enclosing_rank(std::size_t n) {
  double sum = 0;
  double log_term = -static_cast<double>(n) * std::log(2.);  // of the binomial at 0
  std::size_t k = 0;
  while (k < n) {
    sum += std::exp(log_term);
    if (sum > 0.025) break;
    log_term += std::log(static_cast<double>(n - k) / static_cast<double>(k + 1));
    ++k;
  }
  return k;
}

}  // namespace

double median(std::vector<double> values) {
  if (values.empty()) return std::numeric_limits<double>::quiet_NaN();
  return median_of(std::move(values));
}

double relative_error(std::vector<double> values) {
  const std::size_t rank = enclosing_rank(values.size());
  if (rank == 0) return std::numeric_limits<double>::infinity();
  const double middle = median(values);
  std::sort(values.begin(), values.end());
  const double width = values[values.size() - rank] - values[rank - 1];
  return middle > 0 ? width / 2 / middle : 0;
}

std::vector<std::size_t> outliers(const std::vector<double>& values) {
  const double middle = median(values);
  std::vector<double> distances;
  distances.reserve(values.size());
  for (const double value : values) distances.push_back(std::abs(value - middle));
  const double limit = 5 * 1.4826 * median(distances);
  std::vector<std::size_t> answer;
  for (std::size_t i = 0; i < values.size(); ++i)
    if (limit > 0 && distances[i] > limit) answer.push_back(i);
  return answer;
}

bool StoppingRule::is_enough(const std::vector<double>& values) const {
  if (values.size() >= most) return true;
  return values.size() >= least && calibrate::relative_error(values) <= relative_error;
}

}  // namespace sgdsim::calibrate
