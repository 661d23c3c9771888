// Cutting sizes into runs. The cost of every run is known from sums, added up from its first size
// on, so that nothing is ever subtracted; with S sizes and K pieces that is S^2 runs and K S^2
// steps. More than 512 sizes are first gathered into 512 groups: cuts then fall between groups.
//
// With a start of the run, cuts and start are found in turns: the best cuts for a start, the best
// start for the cuts, of which the costs only fall, until the cuts stay.
#include "models/link/fit.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "models/link/least_squares.h"
#include "models/link/run_start.h"
#include "sim/core/error.h"

namespace sgdsim {
namespace {

constexpr std::size_t most_groups = 512;
constexpr std::size_t least_sizes = 2;  // of a piece
// Relative errors below this are how measurements are printed, not a reason for another piece.
constexpr double resolution = 1e-4;

// Rows of consecutive sizes that are not cut apart.
struct SizeGroup {
  std::size_t first_row = 0;
  std::size_t end_row = 0;
  std::size_t sizes = 0;
  Sums sums;
};

std::size_t count_sizes(const std::vector<FitRow>& rows) {
  std::size_t count = rows.empty() ? 0 : 1;
  for (std::size_t i = 1; i < rows.size(); ++i)
    if (rows[i].size_B != rows[i - 1].size_B) ++count;
  return count;
}

std::vector<SizeGroup> grouped(const std::vector<FitRow>& rows) {
  const std::size_t sizes = count_sizes(rows);
  const std::size_t per_group = (sizes + most_groups - 1) / most_groups;
  std::vector<SizeGroup> groups;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const bool new_size = i == 0 || rows[i].size_B != rows[i - 1].size_B;
    if (new_size && (groups.empty() || groups.back().sizes == per_group))
      groups.push_back({.first_row = i, .end_row = i, .sizes = 0, .sums = {}});
    SizeGroup& group = groups.back();
    group.end_row = i + 1;
    if (new_size) ++group.sizes;
    group.sums.add(rows[i]);
  }
  return groups;
}

// The cheapest way to cut the first `end` groups into k runs, for all k and end.
class Cuts {
 public:
  explicit Cuts(const std::vector<SizeGroup>& groups) : groups_(groups) {
    const std::size_t count = groups.size();
    costs_.assign(most_pieces + 1, std::vector<double>(count + 1, none));
    from_.assign(most_pieces + 1, std::vector<std::size_t>(count + 1, 0));
    costs_[0][0] = 0;
    // A run is looked at once, and extends every number of runs before it: ends ascend within a
    // start, and starts ascend, so that what is extended is final.
    for (std::size_t from = 0; from < count; ++from) extend(from);
  }

  bool possible(int pieces) const { return cost(pieces) < none; }
  double cost(int pieces) const { return costs_[static_cast<std::size_t>(pieces)].back(); }

  // The groups at which the pieces begin, and the end.
  std::vector<std::size_t> bounds(int pieces) const {
    std::vector<std::size_t> bounds{groups_.size()};
    for (auto k = static_cast<std::size_t>(pieces); k > 0; --k)
      bounds.push_back(from_[k][bounds.back()]);
    std::reverse(bounds.begin(), bounds.end());
    return bounds;
  }

 private:
  static constexpr double none = std::numeric_limits<double>::infinity();

  void extend(std::size_t from) {
    Sums sums;
    std::size_t sizes = 0;
    for (std::size_t end = from + 1; end <= groups_.size(); ++end) {
      sums.add(groups_[end - 1].sums);
      sizes += groups_[end - 1].sizes;
      if (sizes < least_sizes) continue;
      const double run = least_squares(sums).cost;
      for (std::size_t k = 1; k < costs_.size(); ++k) {
        const double all = costs_[k - 1][from] + run;
        if (all >= costs_[k][end]) continue;
        costs_[k][end] = all;
        from_[k][end] = from;
      }
    }
  }

  const std::vector<SizeGroup>& groups_;
  std::vector<std::vector<double>> costs_;
  std::vector<std::vector<std::size_t>> from_;
};

Estimate estimate(double value, double variance, std::size_t freedom) {
  if (freedom == 0) return {value, {}, {}};
  const double half = student_t(freedom) * std::sqrt(variance);
  return {value, std::max(0., value - half), value + half};
}

// `start_variance`: of the start that is in what rows know.
FitPiece fit_piece(const std::vector<FitRow>& rows, std::size_t from, std::size_t end,
                   double start_variance) {
  Sums sums;
  for (std::size_t i = from; i < end; ++i) sums.add(rows[i]);
  const Solution solution = least_squares(sums);
  FitPiece piece;
  piece.from_B = rows[from].size_B;
  piece.to_B = rows[end - 1].size_B;
  piece.rows = end - from;
  piece.alpha_ps.value = solution.values[0];
  piece.beta_ps.value = solution.values[1];
  piece.gamma_ps.value = solution.values[2];
  double squares = 0;
  double weighted = 0;
  for (std::size_t i = from; i < end; ++i) {
    const double error = piece.predict_ps(rows[i]) / rows[i].time_ps - 1;
    squares += error * error;
    weighted += rows[i].weight * error * error;
    piece.max = std::max(piece.max, std::abs(error));
  }
  piece.rms = std::sqrt(squares / static_cast<double>(piece.rows));
  const auto used =
      static_cast<std::size_t>(std::count(solution.used.begin(), solution.used.end(), true));
  const std::size_t freedom = piece.rows > used ? piece.rows - used : 0;
  const double error_variance = freedom > 0 ? weighted / static_cast<double>(freedom) : 0;
  const auto variance = variances(sums, solution);
  const auto slopes = slopes_by_start(sums, solution);
  const auto with_interval = [&](std::size_t i) {
    if (variance[i] == 0) return Estimate{solution.values[i], {}, {}};
    return estimate(solution.values[i],
                    variance[i] * error_variance + slopes[i] * slopes[i] * start_variance, freedom);
  };
  piece.alpha_ps = with_interval(0);
  piece.beta_ps = with_interval(1);
  piece.gamma_ps = with_interval(2);
  piece.gamma_is_told = solution.used[2];
  return piece;
}

// The first size at which `after` is the cheaper one, between the sizes that either was fitted on.
double begin_of(const FitPiece& after, const FitPiece& before) {
  const double rate_before = before.beta_ps.value + before.gamma_ps.value;
  const double rate_after = after.beta_ps.value + after.gamma_ps.value;
  const double at_last = before.alpha_ps.value + rate_before * after.from_B;
  if (at_last <= after.alpha_ps.value + rate_after * after.from_B) return after.from_B;
  if (rate_before <= rate_after) return std::floor(before.to_B) + 1;
  const double crossing =
      (after.alpha_ps.value - before.alpha_ps.value) / (rate_before - rate_after);
  return std::clamp(std::ceil(crossing), std::floor(before.to_B) + 1, after.from_B);
}

// Rows that are left to tell the errors, once every constant (two a piece, three with a reduction,
// and the start) and every place to cut has taken one. Pieces of two rows always fit, and say
// nothing.
struct Complexity {
  int pieces = 1;
  bool folds = false;
  bool has_start = false;

  double freedom(std::size_t rows) const {
    return static_cast<double>(rows) - ((folds ? 4 : 3) * pieces - 1) - (has_start ? 1 : 0);
  }
  // Where a piece ends counts as two parameters: the best of many places to cut always gains
  // something, and with one a single line often falls to pieces.
  double criterion(double cost, std::size_t rows) const {
    const auto n = static_cast<double>(rows);
    const double error_variance = cost / std::max(1., freedom(rows));
    const double variance = std::max(error_variance, resolution * resolution);
    const int parameters = (folds ? 5 : 4) * pieces - 2 + (has_start ? 1 : 0);
    return n * std::log(variance) + parameters * std::log(n);
  }
};

void sort_by_size(std::vector<FitRow>& rows) {
  std::stable_sort(rows.begin(), rows.end(),
                   [](const FitRow& a, const FitRow& b) { return a.size_B < b.size_B; });
}

// One way to cut, and the start that goes with it.
struct Cutting {
  Complexity complexity;
  std::vector<std::size_t> bounds;
  double start_ps = 0;
  double cost = 0;
};

// What tells the start: every piece, and the runs without a message.
std::vector<Sums> parts_of(const std::vector<SizeGroup>& groups,
                           const std::vector<std::size_t>& bounds, const Sums& empty_runs) {
  std::vector<Sums> parts{empty_runs};
  for (std::size_t i = 0; i + 1 < bounds.size(); ++i) {
    parts.emplace_back();
    for (std::size_t group = bounds[i]; group < bounds[i + 1]; ++group)
      parts.back().add(groups[group].sums);
  }
  return parts;
}

// From the best cuts without a start; empty where the rows do not tell it from alpha.
std::optional<Cutting> with_start(const std::vector<SizeGroup>& groups, const Sums& empty_runs,
                                  Cutting cutting) {
  constexpr int most_turns = 8;
  const int pieces = cutting.complexity.pieces;
  cutting.complexity.has_start = true;
  for (int turn = 0; turn < most_turns; ++turn) {
    const std::vector<Sums> parts = parts_of(groups, cutting.bounds, empty_runs);
    const auto start_ps = best_start_ps(parts);
    if (!start_ps) return std::nullopt;
    cutting.start_ps = *start_ps;
    cutting.cost = cost_at_start(parts, *start_ps);
    std::vector<SizeGroup> left = groups;
    for (SizeGroup& group : left) group.sums = group.sums.at_start(*start_ps);
    const Cuts cuts(left);
    if (cuts.bounds(pieces) == cutting.bounds) break;
    if (turn + 1 < most_turns) cutting.bounds = cuts.bounds(pieces);
  }
  return cutting;
}

// `pieces`: the most, or 0.
Cutting best_cutting(const std::vector<FitRow>& rows, const std::vector<SizeGroup>& groups,
                     const Sums& empty_runs, int pieces) {
  const std::size_t all_rows = rows.size() + empty_runs.rows;
  const bool folds =
      std::any_of(rows.begin(), rows.end(), [](const FitRow& row) { return row.folded > 0; });
  const Cuts cuts(groups);
  Cutting best;
  const auto is_better = [&](const Cutting& one) {
    const Complexity& how = one.complexity;
    if (best.bounds.empty()) return true;
    if (pieces > 0 && how.pieces != best.complexity.pieces) return true;
    return how.freedom(all_rows) > 0 &&
           how.criterion(one.cost, all_rows) < best.complexity.criterion(best.cost, all_rows);
  };
  for (int k = 1; k <= (pieces > 0 ? pieces : most_pieces) && cuts.possible(k); ++k) {
    const Cutting without{.complexity = {k, folds, false},
                          .bounds = cuts.bounds(k),
                          .cost = cuts.cost(k) + empty_runs.squares};
    if (is_better(without)) best = without;
    if (const auto with = with_start(groups, empty_runs, without); with && is_better(*with))
      best = *with;
  }
  return best;
}

}  // namespace

double weight_of_row(double error) {
  constexpr double full = 0.02;
  return error <= full ? 1 : full * full / (error * error);
}

FitRow curve_row(double size_B, double time_ps) {
  return {.size_B = size_B, .alphas = 1, .bytes = size_B, .folded = 0, .time_ps = time_ps};
}

const FitPiece& Fit::piece_at(double size_B) const {
  std::size_t at = pieces.size() - 1;
  while (at > 0 && size_B < pieces[at].rules_from_B) --at;
  return pieces[at];
}

Fit fit_pieces(std::vector<FitRow> rows, int pieces) {
  const Sums empty_runs = take_empty_runs(rows);
  sort_by_size(rows);
  if (count_sizes(rows) < least_sizes)
    throw InputError("", "a line needs at least 2 sizes, got " + std::to_string(count_sizes(rows)));
  const std::vector<SizeGroup> groups = grouped(rows);
  const Cutting best = best_cutting(rows, groups, empty_runs, pieces);
  Fit fit;
  fit.rows = rows.size();
  const std::size_t all_rows = rows.size() + empty_runs.rows;
  const auto freedom = static_cast<std::size_t>(std::max(0., best.complexity.freedom(all_rows)));
  double start_variance = 0;
  if (best.complexity.has_start) {
    for (FitRow& row : rows) row.known_ps += row.starts * best.start_ps;
    const double error_variance = freedom > 0 ? best.cost / static_cast<double>(freedom) : 0;
    const auto parts = parts_of(groups, best.bounds, empty_runs);
    start_variance = error_variance / start_information(parts, best.start_ps);
    fit.start_ps = estimate(best.start_ps, start_variance, freedom);
    fit.start_is_told = true;
  }
  double squares = 0;
  for (std::size_t i = 0; i + 1 < best.bounds.size(); ++i) {
    fit.pieces.push_back(fit_piece(rows, groups[best.bounds[i]].first_row,
                                   groups[best.bounds[i + 1] - 1].end_row, start_variance));
    const FitPiece& piece = fit.pieces.back();
    if (i > 0) fit.pieces[i].rules_from_B = begin_of(fit.pieces[i], fit.pieces[i - 1]);
    squares += piece.rms * piece.rms * static_cast<double>(piece.rows);
    fit.max = std::max(fit.max, piece.max);
  }
  fit.rms = std::sqrt(squares / static_cast<double>(fit.rows));
  fit.criterion = best.complexity.criterion(best.cost, all_rows);
  return fit;
}

std::vector<double> errors_of(const Fit& fit, const std::vector<FitRow>& rows) {
  std::vector<double> errors;
  errors.reserve(rows.size());
  for (const FitRow& row : rows) errors.push_back(std::abs(fit.predict_ps(row) / row.time_ps - 1));
  return errors;
}

PredictionError summary_of(std::vector<double> errors) {
  if (errors.empty()) return {};
  std::sort(errors.begin(), errors.end());
  const std::size_t half = errors.size() / 2;
  const double median =
      errors.size() % 2 == 1 ? errors[half] : (errors[half - 1] + errors[half]) / 2;
  const std::size_t nine_of_ten = (9 * errors.size() + 9) / 10 - 1;
  return {errors.size(), median, errors.back(), errors[nine_of_ten]};
}

PredictionError error_of(const Fit& fit, const std::vector<FitRow>& rows) {
  return summary_of(errors_of(fit, rows));
}

Halves alternate_sizes(std::vector<FitRow> rows) {
  sort_by_size(rows);
  const std::size_t sizes = count_sizes(rows);
  Halves halves;
  std::size_t size = 0;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (i > 0 && rows[i].size_B != rows[i - 1].size_B) ++size;
    const bool is_held = size % 2 == 1 && size + 1 < sizes;
    (is_held ? halves.held : halves.kept).push_back(rows[i]);
  }
  return halves;
}

}  // namespace sgdsim
