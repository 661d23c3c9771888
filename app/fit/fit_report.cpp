// Printing fits, and writing them as clusters, curves and cases.
#include "app/fit/fit_report.h"

#include <algorithm>
#include <cmath>

#include "app/table.h"
#include "sim/core/error.h"
#include "sim/core/quantity.h"

namespace sgdsim {
namespace {

// Below a billionth, errors are those of the arithmetic.
double percent(double part) { return part < 1e-9 ? 0 : 100 * part; }
int64_t whole_B(double size_B) { return std::llround(size_B); }

double first_B(const Fit& fit) { return fit.pieces.front().from_B; }
double last_B(const Fit& fit) { return fit.pieces.back().to_B; }

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
  json["rms_percent"] = percent(piece.rms);
  json["max_percent"] = percent(piece.max);
  return json;
}

Json to_json(const FitInput& input, const Fit& fit) {
  const PredictionError error = error_of(fit, input.rows);
  Json json = {{"operation", input.series.operation}};
  const std::string& algorithm = input.algorithm.empty() ? input.series.algorithm : input.algorithm;
  if (!algorithm.empty()) json["algorithm"] = algorithm;
  if (!input.series.type.empty()) json["type"] = input.series.type;
  if (input.series.block) json["block_B"] = input.series.block->count();
  json["in_place"] = input.series.in_place;
  json["ranks"] = input.series.ranks;
  json["rows"] = error.rows;
  json["median_percent"] = percent(error.median);
  json["max_percent"] = percent(error.max);
  return json;
}

Json held_out_json(const std::string& by, const PredictionError& error) {
  return {{"by", by},
          {"rows", error.rows},
          {"median_percent", percent(error.median)},
          {"max_percent", percent(error.max)}};
}

Json to_json(const Fitted& one) {
  Json json = {{"kind", one.is_link ? "link" : "curve"},
               {"rows", one.fit.rows},
               {"valid_from_B", whole_B(first_B(one.fit))},
               {"valid_to_B", whole_B(last_B(one.fit))},
               {"rms_percent", percent(one.fit.rms)},
               {"max_percent", percent(one.fit.max)},
               {"criterion", one.fit.criterion},
               {"pieces", Json::array()},
               {"series", Json::array()}};
  if (one.given_gamma_ps > 0) json["given_gamma_ps_per_B"] = one.given_gamma_ps;
  for (const FitPiece& piece : one.fit.pieces) json["pieces"].push_back(to_json(piece));
  for (const FitInput& input : one.inputs) json["series"].push_back(to_json(input, one.fit));
  if (one.assessment)
    json["held_out"] = held_out_json(one.assessment->by, summary_of(one.assessment->errors));
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
    row.push_back(rounded(percent(piece.rms), 3));
    row.push_back(rounded(percent(piece.max), 3));
    table.add(row);
  }
  table.print(out);
}

std::string held_out_text(const PredictionError& error) {
  return std::to_string(error.rows) + " rows, median " + rounded(percent(error.median), 3) +
         " %, max " + rounded(percent(error.max), 3) + " %";
}

void print_errors(std::ostream& out, const Fitted& one) {
  out << "  " << one.fit.rows << " rows, " << short_size(first_B(one.fit)) << " to "
      << short_size(last_B(one.fit)) << ": rms " << rounded(percent(one.fit.rms), 3) << " %, max "
      << rounded(percent(one.fit.max), 3) << " %\n";
  if (!one.assessment) return;
  const PredictionError error = summary_of(one.assessment->errors);
  out << "  held out by " << one.assessment->by << ": " << held_out_text(error) << '\n';
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

std::string source_of(const FitAnswer& answer, const Fit& fit) {
  std::string text = "fitted by sgdsim fit to";
  for (const std::string& source : answer.sources)
    text += (&source == &answer.sources.front() ? " " : ", ") + source;
  if (!answer.device.empty()) text += " (" + answer.device + ")";
  return text + "; rms " + rounded(percent(fit.rms), 3) + " %, max " +
         rounded(percent(fit.max), 3) + " %";
}

std::string time_text(double ps) { return to_text(Duration::ps(std::llround(ps))); }

// To nine digits: no measurement has more.
std::string rate_text(double ps) {
  if (ps <= 0) return to_text(PerByte());
  const double scale = std::pow(10, 8 - std::floor(std::log10(ps)));
  return to_text(PerByte::ps(std::round(ps * scale) / scale));
}

Json link_json(const Fit& fit, double given_gamma_ps) {
  const FitPiece& first = fit.pieces.front();
  Json link = {{"latency", time_text(first.alpha_ps.value)},
               {"per_byte", rate_text(first.beta_ps.value)}};
  const double gamma_ps = given_gamma_ps > 0 ? given_gamma_ps : first.gamma_ps.value;
  if (gamma_ps > 0) link["reduce"] = rate_text(gamma_ps);
  for (std::size_t i = 1; i < fit.pieces.size(); ++i) {
    const FitPiece& piece = fit.pieces[i];
    link["segments"].push_back({{"from", to_text(Bytes(whole_B(piece.rules_from_B)))},
                                {"latency", time_text(piece.alpha_ps.value)},
                                {"per_byte", rate_text(piece.beta_ps.value)}});
    if (given_gamma_ps == 0 && piece.gamma_is_told)
      link["segments"].back()["reduce"] = rate_text(piece.gamma_ps.value);
  }
  link["valid"] = {{"from", to_text(Bytes(whole_B(first_B(fit))))},
                   {"to", to_text(Bytes(whole_B(last_B(fit))))}};
  return link;
}

int most_ranks(const Fitted& one) {
  int most = 2;
  for (const FitInput& input : one.inputs) most = std::max(most, input.series.ranks);
  return most;
}

Json case_row(const FitInput& input, std::size_t i) {
  const MeasuredPoint& point = input.series.points[i];
  Json row = {{"label", label_of(input)},
              {"algorithm", input.algorithm.empty() ? "linear" : input.algorithm},
              {"operation", input.algorithm.empty() ? "broadcast" : input.series.operation},
              {"ranks", input.algorithm.empty() ? 2 : input.series.ranks},
              {"size", to_text(point.size)},
              {"time", to_text(point.time)}};
  if (input.series.block && !input.algorithm.empty())
    row["block"] = to_text(std::min(*input.series.block, point.size));
  if (!input.is_held[i]) row["fitted"] = true;
  return row;
}

}  // namespace

std::string label_of(const FitInput& input) {
  const std::string& algorithm = input.algorithm.empty() ? input.series.algorithm : input.algorithm;
  std::string label = input.series.operation;
  if (!algorithm.empty()) label += " " + algorithm;
  if (!input.series.type.empty()) label += ", " + input.series.type;
  label +=
      ", " + std::to_string(input.series.ranks) + (input.series.ranks == 1 ? " rank" : " ranks");
  if (input.series.in_place) label += ", in place";
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
      table.add({label_of(input), std::to_string(error.rows), rounded(percent(error.median), 3),
                 rounded(percent(error.max), 3)});
    }
    out << '\n';
    table.print(out);
  }
  if (const PredictionError error = held_out_error(answer);
      answer.fits.size() > 1 && error.rows > 0)
    out << "\nall " << answer.fits.size() << " curves, held out by " << held_out_by(answer) << ": "
        << held_out_text(error) << '\n';
}

Json link_cluster(const FitAnswer& answer, const Fit& fit) {
  const Fitted& one = answer.fits.front();
  return {{"schema", "sgdsim/cluster/1"},     {"name", answer.name},
          {"source", source_of(answer, fit)}, {"shape", "fully_connected"},
          {"nodes", most_ranks(one)},         {"link", link_json(fit, one.given_gamma_ps)}};
}

Json curve_samples(const FitAnswer& answer) {
  if (answer.fits.size() > 1) {
    std::string labels;
    for (const Fitted& one : answer.fits)
      labels += (labels.empty() ? "" : "; ") + label_of(one.inputs.front());
    throw InputError(
        "--out", "one curve goes into a file, and there are " + std::to_string(answer.fits.size()) +
                     "; choose with --operation, --ranks, --algorithm or --type: " + labels);
  }
  const Fit& fit = answer.fits.front().fit;
  Json samples = Json::array();
  int64_t last = 0;
  constexpr double steps_per_doubling = 4;
  const double doublings = std::log2(last_B(fit) / first_B(fit));
  const int steps = static_cast<int>(std::ceil(doublings * steps_per_doubling));
  for (int step = 0; step <= steps; ++step) {
    const double exact_B = first_B(fit) * std::exp2(step / steps_per_doubling);
    const int64_t size_B = std::min(whole_B(exact_B), whole_B(last_B(fit)));
    if (size_B <= last) continue;
    last = size_B;
    const auto size = static_cast<double>(size_B);
    samples.push_back({{"size", to_text(Bytes(size_B))},
                       {"time", time_text(fit.predict_ps(curve_row(size, 1)))}});
  }
  return {{"schema", "sgdsim/collective-cost/1"},
          {"source", source_of(answer, fit)},
          {"samples", samples}};
}

Json held_out_case(const FitAnswer& answer) {
  const Fitted& one = answer.fits.front();
  if (!one.assessment)
    throw InputError("--case", "nothing was held out, so that no prediction could fail");
  Json json = {{"schema", "sgdsim/case/1"},
               {"name", answer.name},
               {"grade", "A"},
               {"kind", "collective"},
               {"description", "Collectives on the link that was fitted to the rows marked so."},
               {"source",
                {{"origin", answer.device.empty() ? "measured" : "measured on " + answer.device},
                 {"measured", "as in the files that were fitted"},
                 {"fitted",
                  source_of(answer, one.assessment->fit) + "; held out by " + one.assessment->by}}},
               {"tolerance",
                {{"median_percent", 15},
                 {"p90_percent", 100},
                 {"per_algorithm_median_percent", 30},
                 {"from_size", "0 B"}}},
               {"cluster", link_cluster(answer, one.assessment->fit)},
               {"measured", Json::array()}};
  for (const FitInput& input : one.inputs)
    for (std::size_t i = 0; i < input.rows.size(); ++i)
      json["measured"].push_back(case_row(input, i));
  return json;
}

}  // namespace sgdsim
