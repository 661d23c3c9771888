// A line, its errors, and the interval of the ratio of its two numbers.
#include "study/learn/batch_law.h"

#include <algorithm>
#include <cmath>

#include "models/link/least_squares.h"

namespace sgdsim {
namespace {

// S = start + slope x, and the variances of both.
struct IterationLine {
  double start = 0;
  double slope = 0;
  double start_variance = 0;
  double slope_variance = 0;
  double covariance = 0;
};

IterationLine line_through(const std::vector<BatchRow>& rows) {
  const auto count = static_cast<double>(rows.size());
  double mean_x = 0;
  double mean_y = 0;
  for (const BatchRow& row : rows) {
    mean_x += 1 / row.samples / count;
    mean_y += row.iterations / count;
  }
  double squares = 0;
  double products = 0;
  for (const BatchRow& row : rows) {
    const double x = 1 / row.samples - mean_x;
    squares += x * x;
    products += x * (row.iterations - mean_y);
  }
  IterationLine line;
  line.slope = products / squares;
  line.start = mean_y - line.slope * mean_x;
  double left = 0;
  for (const BatchRow& row : rows) {
    const double error = row.iterations - line.start - line.slope / row.samples;
    left += error * error;
  }
  const double variance = left / (count - 2);
  line.start_variance = variance * (1 / count + mean_x * mean_x / squares);
  line.slope_variance = variance / squares;
  line.covariance = -variance * mean_x / squares;
  return line;
}

// Fieller: the ratios r for which slope - r start is nothing within t standard errors; a quadratic
// inequality, whose solutions hold the ratio that was found.
BatchInterval interval_of_ratio(const IterationLine& line, double t) {
  const double a = line.start * line.start - t * t * line.start_variance;
  const double b = line.start * line.slope - t * t * line.covariance;
  const double c = line.slope * line.slope - t * t * line.slope_variance;
  const double root = std::sqrt(std::max(0., b * b - a * c));
  if (a > 0) return {std::max(0., (b - root) / a), (b + root) / a};
  // S_min might be nothing: at least the larger solution, if there is one below what was found.
  const double least = a < 0 && b * b > a * c ? std::max((b - root) / a, (b + root) / a) : 0;
  return {least <= line.slope / line.start ? std::max(0., least) : 0, std::nullopt};
}

}  // namespace

BatchFit fit_batch_law(const std::vector<BatchRow>& rows) {
  BatchFit fit;
  if (rows.size() < least_batches) {
    fit.why_not = std::to_string(rows.size()) + (rows.size() == 1 ? " number" : " numbers") +
                  " of samples reached it: a law needs " + std::to_string(least_batches) +
                  "; choose an easier --target or more --iterations";
    return fit;
  }
  const IterationLine line = line_through(rows);
  if (!(line.slope > 0)) {
    fit.why_not =
        "more samples save no iterations: all of these are beyond the critical batch, so add "
        "smaller ones";
    return fit;
  }
  if (!(line.start > 0)) {
    fit.is_below = true;
    fit.why_not =
        "iterations fall as fast as samples grow, or faster: all of these are below the critical "
        "batch, so add larger ones";
    return fit;
  }
  fit.law = BatchLaw{line.start, line.slope / line.start};
  const double t = student_t(rows.size() - 2);
  const double half = t * std::sqrt(line.start_variance);
  fit.least_iterations = {std::max(0., line.start - half), line.start + half};
  fit.critical_batch = interval_of_ratio(line, t);
  return fit;
}

}  // namespace sgdsim
