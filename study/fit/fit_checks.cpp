// Rows that lie far off, and constants at their bounds.
#include "study/fit/fit_checks.h"

#include <algorithm>
#include <cmath>

#include "sim/core/error.h"
#include "study/fit/fit_report.h"
#include "study/table.h"

namespace sgdsim {
namespace {

// A row is far off if its error is beyond this, and beyond five robust standard deviations.
constexpr double least_error = 0.15;
constexpr double deviations = 5 * 1.4826;  // of the median absolute error
constexpr int most_checks = 8;
constexpr std::size_t most_named = 5;

struct Flagged {
  std::vector<FitRow> rows;
  std::vector<FarRow> places;  // of every row
  std::vector<bool> is_far;
};

std::vector<FitRow> near_rows(const Flagged& all) {
  std::vector<FitRow> rows;
  for (std::size_t i = 0; i < all.rows.size(); ++i)
    if (!all.is_far[i]) rows.push_back(all.rows[i]);
  return rows;
}

// Against what the fit of the near rows predicts.
std::vector<bool> flags_by(const Fit& fit, Flagged& all) {
  std::vector<double> errors;
  for (std::size_t i = 0; i < all.rows.size(); ++i) {
    all.places[i].ratio = all.rows[i].time_ps / fit.predict_ps(all.rows[i]);
    errors.push_back(std::abs(std::log(all.places[i].ratio)));
  }
  std::vector<double> sorted = errors;
  const auto middle = sorted.begin() + static_cast<std::ptrdiff_t>(sorted.size() / 2);
  std::nth_element(sorted.begin(), middle, sorted.end());
  const double limit = std::max(std::log1p(least_error), deviations * *middle);
  std::vector<bool> flags;
  for (const double error : errors) flags.push_back(!(error <= limit));
  return flags;
}

std::string row_text(const Fitted& one, const FarRow& far) {
  const FitInput& input = one.inputs[far.input];
  return label_of(input) + ", " +
         short_size(static_cast<double>(input.series.points[far.row].size.count())) + " (" +
         rounded(far.ratio, 3) + " times)";
}

std::string far_text(const Fitted& one) {
  std::size_t rows = 0;
  for (const FitInput& input : one.inputs) rows += input.rows.size();
  std::string text = std::to_string(one.far_rows.size()) + " of " + std::to_string(rows) +
                     (one.far_rows.size() == 1 ? " rows lies" : " rows lie") +
                     " far from what the others say: ";
  for (std::size_t i = 0; i < std::min(most_named, one.far_rows.size()); ++i)
    text += (i == 0 ? "" : "; ") + row_text(one, one.far_rows[i]);
  if (one.far_rows.size() > most_named) text += "; ...";
  return text + ". They count in the fit; measure them again, or leave them out of the file";
}

}  // namespace

std::string placement_kind(const Series& series) {
  const std::size_t word = series.placement.find_first_not_of("0123456789 ");
  return word == std::string::npos ? "" : series.placement.substr(word);
}

std::string ranks_text(const Series& series) {
  if (!series.placement.empty()) return series.placement;
  return std::to_string(series.ranks) + (series.ranks == 1 ? " rank" : " ranks");
}

std::vector<FarRow> far_rows_of(const Fitted& one, int pieces) {
  Flagged all;
  for (std::size_t input = 0; input < one.inputs.size(); ++input)
    for (std::size_t row = 0; row < one.inputs[input].rows.size(); ++row) {
      all.rows.push_back(one.inputs[input].rows[row]);
      all.places.push_back({input, row, 1});
    }
  all.is_far.assign(all.rows.size(), false);
  Fit fit = one.fit;
  for (int turn = 0; turn < most_checks; ++turn) {
    std::vector<bool> flags = flags_by(fit, all);
    if (flags == all.is_far) break;
    all.is_far = std::move(flags);
    std::vector<FitRow> rows = near_rows(all);
    rows.insert(rows.end(), one.empty_runs.begin(), one.empty_runs.end());
    try {
      fit = fit_pieces(std::move(rows), pieces);
    } catch (const InputError&) {  // too few are left to tell which are far
      return {};
    }
  }
  std::vector<FarRow> far;
  for (std::size_t i = 0; i < all.rows.size(); ++i)
    if (all.is_far[i]) far.push_back(all.places[i]);
  // Where a third is far off, it is the line that does not suit.
  if (3 * far.size() >= all.rows.size()) return {};
  return far;
}

std::vector<std::string> doubts_about(const Fitted& one) {
  std::vector<std::string> doubts;
  const std::string name = one.is_link ? "the link" : label_of(one.inputs.front());
  for (const FitPiece& piece : one.fit.pieces) {
    const std::string from =
        name + ", from " + short_size(piece.from_B) + " to " + short_size(piece.to_B) + ": ";
    if (piece.beta_ps.value == 0)
      doubts.push_back(from + "beta is 0, its bound: times do not grow with the size there");
    if (piece.alpha_ps.value == 0)
      doubts.push_back(from + "alpha is 0, its bound: times grow faster than the size there");
  }
  if (!one.far_rows.empty()) doubts.push_back(far_text(one));
  return doubts;
}

}  // namespace sgdsim
