// Line constants from measured times: relative least squares, in one to four pieces.
//
//   minimise   sum over rows of weight ((alphas alpha + bytes beta + folded gamma - t) / t)^2
//   subject to alpha, beta, gamma >= 0
//
// Errors are relative because a fit must serve 4 bytes and 4 GiB alike. A row whose time is known
// to 2 % or better, or of which that is not stated, weighs 1: lines are no righter than that. One
// that is known worse weighs less, by the inverse square. Where pieces end is found exactly, by
// dynamic programming over all ways to cut the sizes into runs of at least two. How many pieces
// there are is asked for, or the number with the least Bayesian information criterion. Between the
// last size of a piece and the first of the next, the next one rules from where it is the cheaper
// one: programs change their protocol where that pays.
//
// The start of a run is one value for all pieces. Rows in which it goes with alpha (one message
// each, or one number of ranks) cannot tell the two apart; then alpha holds both. Rows of several
// numbers of messages tell it, and so do runs without a message, whose time is the start alone. It
// is taken where the criterion says that it is worth its parameter.
//
// A row may be a time curve (alphas = 1, bytes = size: then alpha and beta are the a and b of
// a + b M) or a collective, whose cost is a sum of so many start-ups, bytes and folded bytes: then
// the constants of the link come out (from_collective.h).
//
// When it is wrong: beyond the sizes that were measured; and the confidence intervals take the
// errors of rows as independent, which drift of the machine's clock rate is not.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <vector>

namespace sgdsim {

struct FitRow {
  double size_B = 0;    // decides the piece
  double alphas = 1;    // how often alpha is paid
  double bytes = 0;     // how many bytes pay beta
  double folded = 0;    // how many bytes pay gamma
  double starts = 0;    // how often the start of a run is paid
  double known_ps = 0;  // part of the time that is known already
  double time_ps = 0;
  double weight = 1;
};
// `error`: half the 95 % interval of its time, over the time; 0: not stated.
double weight_of_row(double error);
FitRow curve_row(double size_B, double time_ps);

// With its 95 % confidence interval, where rows are enough to tell.
struct Estimate {
  double value = 0;
  std::optional<double> low;
  std::optional<double> high;
};

struct FitPiece {
  double from_B = 0;  // the first and the last size that it was fitted on
  double to_B = 0;
  double rules_from_B = 0;
  std::size_t rows = 0;
  Estimate alpha_ps;
  Estimate beta_ps;  // per byte
  Estimate gamma_ps;
  // What the rows cannot tell apart: then beta stands for it as well, and gamma is 0.
  bool gamma_is_told = false;
  double rms = 0;  // of the relative errors
  double max = 0;

  double predict_ps(const FitRow& row) const {
    return row.known_ps + row.alphas * alpha_ps.value + row.bytes * beta_ps.value +
           row.folded * gamma_ps.value;
  }
};

struct Fit {
  std::vector<FitPiece> pieces;
  // What a run costs once, whatever its messages; told if the rows tell it from alpha.
  Estimate start_ps;
  bool start_is_told = false;
  std::size_t rows = 0;
  double rms = 0;
  double max = 0;
  double criterion = 0;  // Bayesian; less is better

  // The range of sizes that were fitted.
  double first_B() const { return pieces.front().from_B; }
  double last_B() const { return pieces.back().to_B; }
  const FitPiece& piece_at(double size_B) const;
  double predict_ps(const FitRow& row) const {
    return row.starts * start_ps.value + piece_at(row.size_B).predict_ps(row);
  }
};

inline constexpr int most_pieces = 4;

// `pieces`: how many; 0 chooses. Fewer come out where there are too few sizes for as many.
// InputError if there are fewer than two sizes. Every time must be above 0. Rows that pay neither
// alpha nor bytes are runs without a message: they tell the start and belong to no piece.
Fit fit_pieces(std::vector<FitRow> rows, int pieces);

// Errors of predictions: median, 90th percentile (the least that nine of ten do not exceed) and
// largest of |predicted / measured - 1|.
struct PredictionError {
  std::size_t rows = 0;
  double median = 0;
  double max = 0;
  double p90 = 0;
};
PredictionError summary_of(std::vector<double> errors);
std::vector<double> errors_of(const Fit& fit, const std::vector<FitRow>& rows);
PredictionError error_of(const Fit& fit, const std::vector<FitRow>& rows);

// A curve in two halves: every other size, the first and the last among the kept ones.
struct Halves {
  std::vector<FitRow> kept;
  std::vector<FitRow> held;
};
Halves alternate_sizes(std::vector<FitRow> rows);

}  // namespace sgdsim
