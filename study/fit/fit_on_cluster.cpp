// Slopes of a collective's time by one link's start-up and time per byte.
#include "study/fit/fit_on_cluster.h"

#include <algorithm>
#include <map>

#include "models/collective/registry.h"
#include "models/collective/simulate.h"
#include "sim/core/error.h"
#include "sim/core/quantity.h"
#include "study/shipped_inputs.h"
#include "topologies/cluster_file.h"

namespace sgdsim {
namespace {

std::string text_of_into(const FitArguments& arguments) {
  if (!arguments.into_text.empty()) return arguments.into_text;
  return cluster_document(arguments.into).root().json().dump();
}

// The link at these constants; it folds as before.
Cluster cluster_at(const FitArguments& arguments, double alpha_ps, double beta_ps) {
  Json fields = {{"latency", to_text(Duration::nearest_ps(alpha_ps))},
                 {"per_byte", to_text(PerByte::ps(beta_ps))}};
  const Json json = with_link(arguments, fields);
  return read_cluster(Value(json, "--into " + arguments.into, "")).cluster;
}

double time_ps(const FitArguments& arguments, const FitInput& input, const MeasuredPoint& point,
               const Cluster& all) {
  const int ranks = input.series.ranks;
  if (ranks > all.network.workers())
    throw InputError("--into", "the cluster has " + std::to_string(all.network.workers()) +
                                   " workers, and " + std::to_string(ranks) + " were measured");
  const Algorithm& algorithm = algorithm_named(input.algorithm, "--from-collective");
  CollectiveQuestion question;
  question.algorithm = input.algorithm;
  question.operation = operation_named(input.series.operation, "--from-collective");
  question.options = options_of(arguments, algorithm);
  question.messages = {point.size};
  question.fidelity = Fidelity::message;  // the closed form charges the worst pair everywhere
  const Cluster cluster = first_ranks(all, ranks);
  return static_cast<double>(simulate_collective(question, cluster, "").time.ps());
}

}  // namespace

bool is_fitted_on_cluster(const FitArguments& arguments, const std::string& algorithm) {
  return algorithm == "hierarchical" || arguments.on_cluster;
}

FitRow row_on_cluster(const FitArguments& arguments, const FitInput& input, std::size_t i,
                      const LinkGuess& about) {
  if (arguments.into.empty())
    throw InputError("--from-collective",
                     "hierarchical uses links inside and across nodes; name the cluster with "
                     "--into, and with --link the one that is fitted");
  const MeasuredPoint& point = input.series.points[i];
  const double alpha_ps = std::max(1., about.alpha_ps);
  const double beta_ps = std::max(1e-3, about.beta_ps);
  const double more_alpha_ps = std::max(1e3, alpha_ps / 64);
  const double more_beta_ps = beta_ps / 64;
  const auto time_at = [&](double a, double b) {
    return time_ps(arguments, input, point, cluster_at(arguments, a, b));
  };
  const double here_ps = time_at(alpha_ps, beta_ps);
  FitRow row;
  row.alphas = (time_at(alpha_ps + more_alpha_ps, beta_ps) - here_ps) / more_alpha_ps;
  row.bytes = (time_at(alpha_ps, beta_ps + more_beta_ps) - here_ps) / more_beta_ps;
  row.known_ps = std::max(0., here_ps - row.alphas * alpha_ps - row.bytes * beta_ps);
  row.time_ps = static_cast<double>(point.time.ps());
  row.size_B = row.alphas > 0 ? row.bytes / row.alphas : static_cast<double>(point.size.count());
  if (row.alphas <= 0 && row.bytes <= 0)
    throw InputError("--link", "the time of " + to_text(point.size) + " among " +
                                   std::to_string(input.series.ranks) + " does not depend on it");
  if (row.known_ps >= row.time_ps)
    throw InputError("--into", "the other links alone would take longer than the " +
                                   to_text(point.time) + " measured for " + to_text(point.size));
  return row;
}

Json with_link(const FitArguments& arguments, const Json& fields) {
  Json json = Document::parse(text_of_into(arguments), arguments.into).root().json();
  std::map<std::string, Json*> links;
  for (Json* object : {&json, json.contains("links") ? &json["links"] : &json})
    for (auto& [name, value] : object->items())
      if (value.is_object() && value.contains("latency")) links[name] = &value;
  if (!links.contains(arguments.link)) {
    std::vector<std::string> names;
    for (const auto& [name, value] : links) names.push_back(name);
    throw InputError("--link", unknown_name("link", arguments.link, names));
  }
  Json& link = *links[arguments.link];
  Json changed = fields;
  // Read off the cluster, a time holds what its links fold; a fit by formulas has its own.
  if (is_fitted_on_cluster(arguments, arguments.from_collective) && link.contains("reduce"))
    changed["reduce"] = link["reduce"];
  link = std::move(changed);
  return json;
}

Cluster first_ranks(const Cluster& all, int ranks) {
  Cluster cluster = all;
  if (ranks == all.network.workers()) return cluster;
  cluster.network = all.network.first(ranks);
  cluster.workers_per_node = std::min(ranks, all.workers_per_node);
  cluster.grid.clear();
  return cluster;
}

}  // namespace sgdsim
