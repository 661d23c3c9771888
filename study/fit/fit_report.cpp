// Printing fits, as tables and as JSON.
#include "study/fit/fit_report.h"

#include <algorithm>
#include <cmath>

#include "sim/core/error.h"
#include "sim/core/quantity.h"
#include "study/fit/fit_checks.h"
#include "study/table.h"

namespace sgdsim {
namespace {

// ---- JSON

void add(Json& json, const std::string& name, const std::string& unit, const Estimate& estimate,
         double scale) {
  json[name + unit] = estimate.value / scale;
  if (!estimate.low) return;
  json[name + "_low" + unit] = *estimate.low / scale;
  json[name + "_high" + unit] = *estimate.high / scale;
}

Json to_json(const FitPiece& piece) {
  Json json = {{"from_B", whole_B(piece.rules_from_B)},
               {"fitted_from_B", whole_B(piece.from_B)},
               {"fitted_to_B", whole_B(piece.to_B)},
               {"rows", piece.rows}};
  add(json, "alpha", "_us", piece.alpha_ps, 1e6);
  add(json, "beta", "_ps_per_B", piece.beta_ps, 1);
  if (piece.gamma_is_told) add(json, "gamma", "_ps_per_B", piece.gamma_ps, 1);
  json["rms_percent"] = in_percent(piece.rms);
  json["max_percent"] = in_percent(piece.max);
  return json;
}

Json to_json(const FitInput& input, const Fit& fit) {
  const PredictionError error = error_of(fit, input.rows);
  Json json = {{"operation", input.series.operation}};
  const std::string& algorithm = input.algorithm.empty() ? input.series.algorithm : input.algorithm;
  if (!algorithm.empty()) json["algorithm"] = algorithm;
  if (!input.series.type.empty()) json["type"] = input.series.type;
  if (input.series.block) json["block_B"] = input.series.block->count();
  if (!input.series.group.empty()) json["group"] = input.series.group;
  if (!input.series.placement.empty()) json["placement"] = input.series.placement;
  if (!input.series.note.empty()) json["note"] = input.series.note;
  json["in_place"] = input.series.in_place;
  json["ranks"] = input.series.ranks;
  json["rows"] = error.rows;
  json["median_percent"] = in_percent(error.median);
  json["max_percent"] = in_percent(error.max);
  return json;
}

Json held_out_json(const std::string& by, const PredictionError& error) {
  return {{"by", by},
          {"rows", error.rows},
          {"median_percent", in_percent(error.median)},
          {"max_percent", in_percent(error.max)}};
}

Json to_json(const Fitted& one) {
  Json json = {{"kind", one.is_link ? "link" : "curve"},
               {"rows", one.fit.rows},
               {"valid_from_B", whole_B(one.fit.first_B())},
               {"valid_to_B", whole_B(one.fit.last_B())},
               {"rms_percent", in_percent(one.fit.rms)},
               {"max_percent", in_percent(one.fit.max)},
               {"criterion", one.fit.criterion},
               {"pieces", Json::array()},
               {"series", Json::array()}};
  if (one.given_gamma_ps > 0) json["given_gamma_ps_per_B"] = one.given_gamma_ps;
  if (one.given_start_ps > 0) json["given_start_us"] = one.given_start_ps / 1e6;
  if (one.fit.start_is_told) add(json, "start", "_us", one.fit.start_ps, 1e6);
  for (const FitPiece& piece : one.fit.pieces) json["pieces"].push_back(to_json(piece));
  for (const FitInput& input : one.inputs) json["series"].push_back(to_json(input, one.fit));
  for (const FarRow& far : one.far_rows)
    json["outliers"].push_back(
        {{"series", far.input},
         {"size_B", one.inputs[far.input].series.points[far.row].size.count()},
         {"times_fitted", far.ratio}});
  if (one.assessment) {
    json["held_out"] = held_out_json(one.assessment->by, summary_of(one.assessment->errors));
    if (!one.assessment->sentence.empty()) json["held_out"]["learned"] = one.assessment->sentence;
  }
  return json;
}

// ---- tables

std::string interval_text(const Estimate& estimate, double scale) {
  std::string text = rounded(estimate.value / scale);
  if (estimate.low)
    text += " (" + rounded(*estimate.low / scale, 3) + " to " + rounded(*estimate.high / scale, 3) +
            ")";
  return text;
}

void print_pieces(std::ostream& out, const Fitted& one) {
  const bool folds = std::any_of(one.fit.pieces.begin(), one.fit.pieces.end(),
                                 [](const FitPiece& piece) { return piece.gamma_is_told; });
  std::vector<std::string> head{"from", "rows", "alpha us (95 %)", "beta ps/B (95 %)"};
  if (folds) head.emplace_back("gamma ps/B (95 %)");
  head.insert(head.end(), {"rms %", "max %"});
  Table table(head);
  for (const FitPiece& piece : one.fit.pieces) {
    const double from_B = &piece == &one.fit.pieces.front() ? piece.from_B : piece.rules_from_B;
    std::vector<std::string> row{short_size(from_B), std::to_string(piece.rows),
                                 interval_text(piece.alpha_ps, 1e6),
                                 interval_text(piece.beta_ps, 1)};
    if (folds) row.push_back(interval_text(piece.gamma_ps, 1));
    row.push_back(rounded(in_percent(piece.rms), 3));
    row.push_back(rounded(in_percent(piece.max), 3));
    table.add(row);
  }
  table.print(out);
}

std::string errors_text(const PredictionError& error) {
  return std::to_string(error.rows) + " rows, median " + rounded(in_percent(error.median), 3) +
         " %, max " + rounded(in_percent(error.max), 3) + " %";
}

void print_errors(std::ostream& out, const Fitted& one) {
  out << "  " << one.fit.rows << " rows, " << short_size(one.fit.first_B()) << " to "
      << short_size(one.fit.last_B()) << ": rms " << rounded(in_percent(one.fit.rms), 3)
      << " %, max " << rounded(in_percent(one.fit.max), 3) << " %\n";
  if (one.fit.start_is_told)
    out << "  start of a run: " << interval_text(one.fit.start_ps, 1e6) << " us, paid once\n";
  if (!one.assessment) return;
  const PredictionError error = summary_of(one.assessment->errors);
  out << "  held out by " << one.assessment->by << ": " << errors_text(error) << '\n';
  if (!one.assessment->sentence.empty()) out << "  learned " << one.assessment->sentence << '\n';
}

std::string held_out_by(const FitAnswer& answer) {
  for (const Fitted& one : answer.fits)
    if (one.assessment) return one.assessment->by;
  return "";
}

std::string fitted_label(const Fitted& one) {
  if (!one.is_link) return label_of(one.inputs.front());
  return "link under " + std::to_string(one.inputs.size()) + " series";
}

// ---- files for simulations

}  // namespace

int64_t whole_B(double size_B) { return std::llround(size_B); }

// Below a billionth, errors are those of the arithmetic.
double in_percent(double part) { return part < 1e-9 ? 0 : 100 * part; }

std::string label_of(const FitInput& input) {
  const std::string& algorithm = input.algorithm.empty() ? input.series.algorithm : input.algorithm;
  std::string label = input.series.operation;
  if (!algorithm.empty()) label += " " + algorithm;
  if (!input.series.type.empty()) label += ", " + input.series.type;
  label += ", " + ranks_text(input.series);
  if (input.series.in_place) label += ", in place";
  if (!input.series.group.empty()) label += ", " + input.series.group;
  if (!input.series.note.empty()) label += ", " + input.series.note;
  return label;
}

Json to_json(const FitAnswer& answer) {
  Json json = {{"schema", "sgdsim/fit/1"},
               {"name", answer.name},
               {"sources", answer.sources},
               {"notes", answer.notes},
               {"fits", Json::array()}};
  for (const Fitted& one : answer.fits) json["fits"].push_back(to_json(one));
  if (const PredictionError error = held_out_error(answer); error.rows > 0)
    json["held_out"] = held_out_json(held_out_by(answer), error);
  if (answer.played.rows > 0)
    json["played"] = {{"rows", answer.played.rows},
                      {"median_percent", in_percent(answer.played.median)},
                      {"max_percent", in_percent(answer.played.max)}};
  return json;
}

void print_fits(std::ostream& out, const FitAnswer& answer) {
  for (const Fitted& one : answer.fits) {
    if (&one != &answer.fits.front()) out << '\n';
    out << fitted_label(one) << '\n';
    print_pieces(out, one);
    print_errors(out, one);
    if (!one.is_link) continue;
    Table table({"series", "rows", "median %", "max %"});
    for (const FitInput& input : one.inputs) {
      const PredictionError error = error_of(one.fit, input.rows);
      table.add({label_of(input), std::to_string(error.rows), rounded(in_percent(error.median), 3),
                 rounded(in_percent(error.max), 3)});
    }
    out << '\n';
    table.print(out);
  }
  if (answer.played.rows > 0)
    out << "\nplayed on the cluster that is written: " << errors_text(answer.played) << '\n';
  if (const PredictionError error = held_out_error(answer);
      answer.fits.size() > 1 && error.rows > 0)
    out << "\nall " << answer.fits.size() << " curves, held out by " << held_out_by(answer) << ": "
        << errors_text(error) << '\n';
}

}  // namespace sgdsim
