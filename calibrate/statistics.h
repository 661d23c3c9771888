// Medians of repeated measurements, how sure they are, and when to stop repeating.
//
// A time that is measured again and again has no upper end: somebody else may always have been on
// the machine. So the median stands for it, its error comes from order statistics, which need no
// distribution, and outliers are flagged by the median absolute deviation and kept.
#pragma once

#include <cstddef>
#include <vector>

namespace sgdsim::calibrate {

double median(std::vector<double> values);

// Half the width of the 95 % confidence interval of the median, over the median; infinite for
// fewer than six values, of which no two enclose the median so surely.
double relative_error(std::vector<double> values);

// Which values lie more than five robust standard deviations (1.4826 times the median absolute
// deviation) from the median. A spread of zero flags nothing.
std::vector<std::size_t> outliers(const std::vector<double>& values);

struct StoppingRule {
  double relative_error = 0.02;
  std::size_t least = 10;
  std::size_t most = 200;
  bool is_enough(const std::vector<double>& values) const;
};

}  // namespace sgdsim::calibrate
