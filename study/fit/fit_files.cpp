// Writing fits as clusters, curves and cases.
#include "study/fit/fit_files.h"

#include <algorithm>
#include <cmath>

#include "sim/core/error.h"
#include "sim/core/quantity.h"
#include "study/fit/fit_on_cluster.h"
#include "study/fit/fit_report.h"
#include "study/table.h"
#include "topologies/cluster_file.h"

namespace sgdsim {
namespace {

std::string source_of(const FitAnswer& answer, const Fit& fit) {
  std::string text = "fitted by sgdsim fit to";
  for (const std::string& source : answer.sources)
    text += (&source == &answer.sources.front() ? " " : ", ") + source;
  if (!answer.device.empty()) text += " (" + answer.device + ")";
  return text + "; rms " + rounded(in_percent(fit.rms), 3) + " %, max " +
         rounded(in_percent(fit.max), 3) + " %";
}

std::string time_text(double ps) { return to_text(Duration::nearest_ps(ps)); }

// To nine digits: no measurement has more.
std::string rate_text(double ps) {
  if (ps <= 0) return to_text(PerByte());
  const double scale = std::pow(10, 8 - std::floor(std::log10(ps)));
  return to_text(PerByte::ps(std::round(ps * scale) / scale));
}

Json link_json(const Fitted& one, const Fit& fit, int crossings = 1) {
  const double given_gamma_ps = one.given_gamma_ps;
  const FitPiece& first = fit.pieces.front();
  Json link = {{"latency", time_text(first.alpha_ps.value / crossings)},
               {"per_byte", rate_text(first.beta_ps.value)}};
  const double gamma_ps = given_gamma_ps > 0 ? given_gamma_ps : first.gamma_ps.value;
  if (gamma_ps > 0) link["reduce"] = rate_text(gamma_ps);
  for (std::size_t i = 1; i < fit.pieces.size(); ++i) {
    const FitPiece& piece = fit.pieces[i];
    link["segments"].push_back({{"from", to_text(Bytes(whole_B(piece.rules_from_B)))},
                                {"latency", time_text(piece.alpha_ps.value / crossings)},
                                {"per_byte", rate_text(piece.beta_ps.value)}});
    if (given_gamma_ps == 0 && piece.gamma_is_told)
      link["segments"].back()["reduce"] = rate_text(piece.gamma_ps.value);
  }
  if (one.rendezvous_B) link["rendezvous"] = to_text(Bytes(whole_B(*one.rendezvous_B)));
  link["valid"] = {{"from", to_text(Bytes(whole_B(fit.first_B())))},
                   {"to", to_text(Bytes(whole_B(fit.last_B())))}};
  return link;
}

// None where it is unknown: then alpha holds it.
void set_start(Json& cluster, const Fitted& one, const Fit& fit) {
  const double start_ps = fit.start_is_told ? fit.start_ps.value : one.given_start_ps;
  cluster.erase("start");
  if (start_ps > 0) cluster["start"] = time_text(start_ps);
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

Json link_cluster(const FitAnswer& answer, const Fit& fit) {
  const Fitted& one = answer.fits.front();
  Json json = {{"schema", "sgdsim/cluster/1"},     {"name", answer.name},
               {"source", source_of(answer, fit)}, {"shape", "fully_connected"},
               {"nodes", most_ranks(one)},         {"link", link_json(one, fit)}};
  if (!answer.network.empty()) json["network"] = answer.network;
  set_start(json, one, fit);
  return json;
}

namespace {

// Another cluster than the one that it was made of. A fit inside nodes and one between them are
// one.
std::string fitted_name(const Json& cluster) {
  const std::string name = cluster.value("name", cluster.value("shape", "cluster"));
  return name.ends_with("_fitted") ? name : name + "_fitted";
}

}  // namespace

Json cluster_with_link(const FitArguments& arguments, const FitAnswer& answer) {
  const Fitted& one = answer.fits.front();
  Json json = with_link(arguments, link_json(one, one.fit, arguments.crossings));
  if (!is_fitted_on_cluster(arguments, arguments.from_collective)) set_start(json, one, one.fit);
  json["name"] = arguments.name.empty() ? fitted_name(json) : arguments.name;
  if (!arguments.network.empty()) json["network"] = arguments.network;
  const std::string before = json.value("source", std::string());
  json["source"] =
      before + (before.empty() ? "" : " ") + arguments.link + ": " + source_of(answer, one.fit);
  // Not every shape takes every link.
  read_cluster(Document::parse(json.dump(), "--into " + arguments.into).root());
  return json;
}

Json curve_samples(const FitAnswer& answer) {
  if (answer.fits.size() > 1) {
    std::string labels;
    for (const Fitted& one : answer.fits)
      labels += (labels.empty() ? "" : "; ") + label_of(one.inputs.front());
    throw InputError(
        "--out",
        "one curve goes into a file, and there are " + std::to_string(answer.fits.size()) +
            "; choose with --operation, --ranks, --algorithm, --type or --group: " + labels);
  }
  const Fit& fit = answer.fits.front().fit;
  Json samples = Json::array();
  int64_t last = 0;
  constexpr double steps_per_doubling = 4;
  const double doublings = std::log2(fit.last_B() / fit.first_B());
  const int steps = static_cast<int>(std::ceil(doublings * steps_per_doubling));
  for (int step = 0; step <= steps; ++step) {
    const double exact_B = fit.first_B() * std::exp2(step / steps_per_doubling);
    const int64_t size_B = std::min(whole_B(exact_B), whole_B(fit.last_B()));
    if (size_B <= last) continue;
    last = size_B;
    const auto size = static_cast<double>(size_B);
    samples.push_back({{"size", to_text(Bytes(size_B))},
                       {"time", time_text(fit.predict_ps(curve_row(size, 1)))}});
  }
  Json json = {{"schema", "sgdsim/collective-cost/1"}, {"source", source_of(answer, fit)}};
  if (const int ranks = answer.fits.front().inputs.front().series.ranks; ranks > 0)
    json["ranks"] = ranks;
  json["samples"] = std::move(samples);
  return json;
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
