// From files to fits.
#include "study/fit/fit_question.h"

#include <algorithm>
#include <cmath>

#include "models/collective/options.h"
#include "models/link/from_collective.h"
#include "sim/core/error.h"
#include "sim/core/json.h"
#include "sim/core/quantity.h"
#include "study/fit/fit_checks.h"
#include "study/fit/fit_held_out.h"
#include "study/fit/fit_network.h"
#include "study/fit/fit_on_cluster.h"
#include "study/fit/fit_series.h"
#include "study/shipped_inputs.h"

namespace sgdsim {
namespace {

// ---- rows

FitInput curve_of(const Series& series) {
  FitInput input{series, "", {}, {}};
  for (const MeasuredPoint& point : series.points) {
    input.rows.push_back(
        curve_row(static_cast<double>(point.size.count()), static_cast<double>(point.time.ps())));
    input.rows.back().weight = weight_of_row(point.error);
  }
  return input;
}

bool is_collective(const Series& series) {
  for (const std::string& name : operation_names())
    if (series.operation == name) return true;
  return false;
}

// A point as a row of the link's fit; where the cost is no sum, about the constants of a fit.
FitRow link_row_of(const FitArguments& arguments, const LinkGuess& about, std::size_t i,
                   FitInput& input) {
  const Algorithm& algorithm = algorithm_named(input.algorithm, "--from-collective");
  const Series& series = input.series;
  const MeasuredPoint& point = series.points[i];
  if (is_fitted_on_cluster(arguments, input.algorithm)) {
    input.has_slopes = true;
    FitRow row = row_on_cluster(arguments, input, i, about);
    row.weight = weight_of_row(point.error);
    return row;
  }
  std::optional<Bytes> block;
  if (algorithm.takes_block && series.block) block = std::min(*series.block, point.size);
  auto [row, is_slope] =
      link_row(algorithm,
               {operation_named(series.operation, "--from-collective"), series.ranks, point.size,
                block, point.time, acknowledged_on(arguments)},
               options_of(arguments, algorithm), about);
  input.has_slopes = input.has_slopes || is_slope;
  if (!arguments.gamma.empty()) {
    row.known_ps = row.folded * about.gamma_ps;
    row.folded = 0;
  }
  row.weight = weight_of_row(point.error);
  if (row.known_ps >= row.time_ps)
    throw InputError("--gamma", "folding alone would take longer than the " + to_text(point.time) +
                                    " measured for " + to_text(point.size));
  return row;
}

// Every run pays its start once: a time that is given, or one to be fitted.
void pay_start(const FitArguments& arguments, FitInput& input, std::size_t i) {
  FitRow& row = input.rows[i];
  if (arguments.start.empty()) {
    row.starts = is_fitted_on_cluster(arguments, input.algorithm) ? 0 : 1;
    return;
  }
  const Duration start = parse_duration(arguments.start, "--start");
  row.known_ps += static_cast<double>(start.ps());
  if (row.known_ps >= row.time_ps)
    throw InputError("--start", "the start alone would take longer than the " +
                                    to_text(input.series.points[i].time) + " measured for " +
                                    to_text(input.series.points[i].size));
}

FitInput link_rows(const Series& series, const FitArguments& arguments, const LinkGuess& about) {
  if (series.operation == "copy") {
    FitInput input = curve_of(series);
    for (std::size_t i = 0; i < input.rows.size(); ++i) pay_start(arguments, input, i);
    return input;
  }
  const bool as_stated = arguments.from_collective == "stated";
  if (as_stated && series.algorithm.empty())
    throw InputError("--from-collective", "it does not state its algorithm; name one");
  const bool is_nccl = series.algorithm == "nccl";  // which may be any of them
  if (as_stated && is_nccl)
    throw InputError("--from-collective",
                     "NCCL does not state its algorithm; name one, or fit a curve");
  if (!as_stated && !is_nccl && !series.algorithm.empty() &&
      series.algorithm != arguments.from_collective)
    throw InputError("--from-collective", "it states another algorithm: " + series.algorithm);
  FitInput input{series, as_stated ? series.algorithm : arguments.from_collective, {}, {}};
  for (std::size_t i = 0; i < series.points.size(); ++i) {
    input.rows.push_back(link_row_of(arguments, about, i, input));
    pay_start(arguments, input, i);
  }
  return input;
}

// What runs without a message took, less the kernel that each of their streams has. NCCL's calls
// are no runs of a plan, but follow each other (calibrate/cuda/backend.cu).
std::vector<FitRow> empty_runs_of(const FitArguments& arguments,
                                  const std::vector<FitInput>& inputs,
                                  const std::vector<Series>& overheads) {
  std::vector<FitRow> rows;
  for (const FitInput& input : inputs)
    if (input.series.algorithm == "nccl") return rows;
  if (!arguments.start.empty() || is_fitted_on_cluster(arguments, arguments.from_collective))
    return rows;
  double kernel_ps = 0;
  for (const Series& series : overheads)
    if (is_overhead(series, "launch"))
      kernel_ps = static_cast<double>(series.points.front().time.ps());
  const auto ranks = ranks_of(arguments.ranks, "--ranks");
  for (const Series& series : overheads) {
    if (!is_overhead(series, "") || (ranks && series.ranks != *ranks)) continue;
    const auto time_ps = static_cast<double>(series.points.front().time.ps());
    rows.push_back({.alphas = 0,
                    .starts = 1,
                    .known_ps = kernel_ps < time_ps ? kernel_ps : 0,
                    .time_ps = time_ps,
                    .weight = weight_of_row(series.points.front().error)});
  }
  return rows;
}

// ---- fits and their assessment

HeldRanks held_of(const FitArguments& arguments, const std::vector<FitInput>& inputs,
                  std::vector<std::string>& notes) {
  std::vector<RanksOf> measured;
  for (const FitInput& input : inputs) measured.push_back({input.series.ranks, 0});
  return held_ranks(arguments.holdout, std::move(measured), notes);
}

void mark_held(const FitArguments& arguments, const HeldRanks& held, FitInput& input) {
  input.is_held.assign(input.rows.size(), held.holds(input.series.ranks));
  if (arguments.holdout != "sizes") return;
  // Points are tidy: one per size, ascending.
  for (std::size_t i = 1; i + 1 < input.rows.size(); i += 2) input.is_held[i] = true;
}

std::optional<Assessment> assess(const FitArguments& arguments, Fitted& one, int pieces) {
  std::vector<FitRow> kept;
  std::vector<FitRow> held;
  std::vector<std::string> told;  // once, where the inputs came together
  const HeldRanks ranks = held_of(arguments, one.inputs, told);
  for (FitInput& input : one.inputs) {
    mark_held(arguments, ranks, input);
    for (std::size_t i = 0; i < input.rows.size(); ++i)
      (input.is_held[i] ? held : kept).push_back(input.rows[i]);
  }
  const auto different = [](const FitRow& row) {
    return [&row](const FitRow& other) { return other.size_B != row.size_B; };
  };
  const bool two_sizes =
      !kept.empty() && std::any_of(kept.begin(), kept.end(), different(kept.front()));
  if (held.empty() || !two_sizes) return std::nullopt;
  kept.insert(kept.end(), one.empty_runs.begin(), one.empty_runs.end());
  Assessment assessment{
      arguments.holdout == "sizes" ? "sizes" : "ranks", {}, fit_pieces(kept, pieces), {}};
  assessment.errors = errors_of(assessment.fit, held);
  assessment.sentence = ranks.sentence(summary_of(assessment.errors));
  return assessment;
}

Fitted fitted(const FitArguments& arguments, std::vector<FitInput> inputs,
              std::vector<FitRow> empty_runs, FitAnswer& answer) {
  const int pieces = pieces_of(arguments);
  Fitted one;
  one.inputs = std::move(inputs);
  one.empty_runs = std::move(empty_runs);
  apply_rendezvous(arguments, pieces, one, answer);
  std::vector<FitRow> rows = all_rows(one.inputs);
  rows.insert(rows.end(), one.empty_runs.begin(), one.empty_runs.end());
  one.fit = fit_pieces(std::move(rows), pieces);
  if (one.fit.pieces.size() < static_cast<std::size_t>(pieces))
    answer.notes.push_back("--segments " + arguments.pieces + ": " +
                           kinds_of({one.inputs[0].series}) + ": the sizes are enough for " +
                           std::to_string(one.fit.pieces.size()));
  one.assessment = assess(arguments, one, pieces);
  one.far_rows = far_rows_of(one, pieces);
  return one;
}

void fit_curves(const FitArguments& arguments, const std::vector<Series>& all, FitAnswer& answer) {
  std::string why_not;
  for (const Series& series : all) {
    try {
      answer.fits.push_back(fitted(arguments, {curve_of(series)}, {}, answer));
    } catch (const InputError& error) {
      why_not = error.what();
      answer.notes.push_back("not fitted: " + kinds_of({series}) + ": " + why_not);
    }
  }
  if (answer.fits.empty()) throw InputError(arguments.files.front(), why_not);
}

// Slopes about the last fit, until they are those of the fit that they give. Costs are pieces of
// planes, on which that takes two or three turns; a measurement between two of them may take turns
// for ever, and keeps the last.
void repeat_about_itself(const FitArguments& arguments, const LinkGuess& first, Fitted& one,
                         FitAnswer& answer) {
  constexpr int most_turns = 10;
  for (int turn = 0; turn < most_turns; ++turn) {
    bool has_moved = false;
    std::vector<FitInput> inputs = one.inputs;
    for (FitInput& input : inputs)
      for (std::size_t i = 0; input.has_slopes && i < input.rows.size(); ++i) {
        const FitPiece& piece = one.fit.piece_at(input.rows[i].size_B);
        const bool is_given = !arguments.gamma.empty();
        const LinkGuess about{piece.alpha_ps.value, piece.beta_ps.value,
                              is_given ? first.gamma_ps : piece.gamma_ps.value};
        const FitRow before = input.rows[i];
        input.rows[i] = link_row_of(arguments, about, i, input);
        pay_start(arguments, input, i);
        const FitRow& row = input.rows[i];
        const double moved_ps = std::abs(piece.predict_ps(row) - piece.predict_ps(before));
        has_moved = has_moved || moved_ps > 1e-6 * row.time_ps;
      }
    if (!has_moved) return;
    FitAnswer silent;
    one = fitted(arguments, std::move(inputs), one.empty_runs, silent);
  }
  answer.notes.emplace_back(
      "which part of a collective waits for which depends on the constants, and they do not "
      "settle");
}

// What the cluster of --into states already; empty if it does not.
std::string stated(const FitArguments& arguments, const char* field) {
  if (arguments.into.empty()) return "";
  const Json json = cluster_document(arguments.into).root().json();
  return json.is_object() && json.contains(field) && json[field].is_string()
             ? json[field].get<std::string>()
             : "";
}

void fit_link(const FitArguments& arguments, const ReadSeries& series, FitAnswer& answer);

// Where the rows do not tell the start, alpha would hold it, and the cluster pay it a second time.
bool is_refitted_beside_start(const FitArguments& arguments, const ReadSeries& series,
                              const Fitted& one, FitAnswer& answer) {
  const bool is_open = arguments.start.empty() && !one.fit.start_is_told &&
                       !is_fitted_on_cluster(arguments, arguments.from_collective);
  const std::string start = is_open ? stated(arguments, "start") : "";
  if (start.empty()) return false;
  FitArguments with = arguments;
  with.start = start;
  FitAnswer second = answer;
  second.notes.clear();
  try {
    fit_link(with, series, second);
  } catch (const InputError&) {
    answer.notes.push_back("the start of --into, " + start +
                           ", is longer than what was measured: alpha holds what a run costs "
                           "once, and the cluster that is written has no start");
    return false;
  }
  answer = std::move(second);
  answer.notes.push_back("the rows do not tell the start of a run: it is " + start +
                         ", as in --into");
  return true;
}

std::vector<FitInput> inputs_of_link(const FitArguments& arguments, const std::vector<Series>& all,
                                     const LinkGuess& first, FitAnswer& answer) {
  std::vector<FitInput> inputs;
  for (const Series& series : all) {
    if (series.type != all.front().type)
      throw InputError("--type", "several data types were measured: " + kinds_of(all) +
                                     "; one link has one time per byte");
    if (series.group != all.front().group && arguments.group.empty())
      throw InputError("--group",
                       "several groups of ranks were measured, and each may use other "
                       "links: " +
                           kinds_of(all));
    if (series.operation != "copy" && !is_collective(series)) continue;
    if (series.ranks < 2) continue;
    if (!inputs.empty() && placement_kind(series) != placement_kind(inputs.front().series))
      throw InputError(
          "--placement",
          "ranks were placed in several ways, and each uses other links: " + kinds_of(all));
    // A copy by a detour is another link, to be asked for by its name.
    if (series.operation == "copy" && series.algorithm != arguments.algorithm) continue;
    try {
      inputs.push_back(link_rows(series, arguments, first));
      const std::string& algorithm = inputs.back().algorithm;
      if (!series.block && !algorithm.empty())
        if (const auto note = algorithm_named(algorithm, "").closed_form_note; !note.empty())
          answer.notes.push_back(kinds_of({series}) + ": " + std::string(note));
    } catch (const InputError& error) {
      answer.notes.push_back("left out: " + kinds_of({series}) + ": " + error.what());
    }
  }
  if (inputs.empty())
    throw InputError(
        "--from-collective",
        answer.notes.empty()
            ? "no collective among 2 ranks or more was measured; there are: " + kinds_of(all)
            : answer.notes.back());
  return inputs;
}

void fit_link(const FitArguments& arguments, const ReadSeries& series, FitAnswer& answer) {
  LinkGuess first;
  if (!arguments.gamma.empty()) first.gamma_ps = parse_per_byte(arguments.gamma, "--gamma").ps();
  std::vector<FitInput> inputs = inputs_of_link(arguments, series.chosen, first, answer);
  held_of(arguments, inputs, answer.notes);
  try {
    std::vector<FitRow> empty_runs = empty_runs_of(arguments, inputs, series.overheads);
    Fitted one = fitted(arguments, std::move(inputs), std::move(empty_runs), answer);
    repeat_about_itself(arguments, first, one, answer);
    if (is_refitted_beside_start(arguments, series, one, answer)) return;
    answer.fits.push_back(std::move(one));
  } catch (const InputError& error) {
    throw InputError(arguments.files.front(), error.what());
  }
  answer.fits.back().is_link = true;
  answer.fits.back().given_gamma_ps = arguments.gamma.empty() ? 0 : first.gamma_ps;
  if (!arguments.start.empty())
    answer.fits.back().given_start_ps =
        static_cast<double>(parse_duration(arguments.start, "--start").ps());
}

}  // namespace

PredictionError held_out_error(const FitAnswer& answer) {
  std::vector<double> errors;
  for (const Fitted& one : answer.fits)
    if (one.assessment)
      errors.insert(errors.end(), one.assessment->errors.begin(), one.assessment->errors.end());
  return summary_of(errors);
}

std::vector<FitRow> all_rows(const std::vector<FitInput>& inputs) {
  std::vector<FitRow> rows;
  for (const FitInput& input : inputs)
    rows.insert(rows.end(), input.rows.begin(), input.rows.end());
  return rows;
}

FitAnswer answer_fit(const FitArguments& given) {
  check(given);
  FitArguments arguments = given;
  if (arguments.network.empty()) arguments.network = stated(arguments, "network");
  FitAnswer answer;
  answer.name = arguments.name;
  answer.network = arguments.network;
  ReadSeries series = read_series(arguments, answer);
  keep_sizes(series.chosen, arguments);
  if (arguments.from_collective.empty())
    fit_curves(arguments, series.chosen, answer);
  else
    fit_link(arguments, series, answer);
  for (const Fitted& one : answer.fits)
    for (const std::string& doubt : doubts_about(one)) answer.notes.push_back(doubt);
  return answer;
}

}  // namespace sgdsim
