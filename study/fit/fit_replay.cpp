// Playing the measured collectives on the cluster that was fitted to them.
#include "study/fit/fit_replay.h"

#include <algorithm>
#include <cmath>

#include "models/collective/registry.h"
#include "models/collective/simulate.h"
#include "sim/core/error.h"
#include "study/fit/fit_on_cluster.h"
#include "study/fit/fit_report.h"
#include "study/table.h"
#include "topologies/cluster_file.h"

namespace sgdsim {
namespace {

constexpr double accepted_error = 0.05;
constexpr double accepted_ratio = 2;  // of the errors on the file and of the fit

// A copy is a broadcast between two.
CollectiveQuestion question_of(const FitArguments& arguments, const FitInput& input) {
  CollectiveQuestion question;
  question.algorithm = input.algorithm.empty() ? "linear" : input.algorithm;
  if (input.algorithm.empty()) {
    question.operation = Operation::broadcast;
    return question;
  }
  const Algorithm& algorithm = algorithm_named(input.algorithm, "--from-collective");
  question.operation = operation_named(input.series.operation, "--from-collective");
  question.options = options_of(arguments, algorithm);
  return question;
}

std::vector<double> errors_on(const Cluster& all, const FitArguments& arguments,
                              const FitInput& input) {
  const int ranks = input.algorithm.empty() ? 2 : input.series.ranks;
  if (ranks > all.network.workers())
    throw InputError("",
                     "the cluster has only " + std::to_string(all.network.workers()) + " workers");
  const Cluster cluster = first_ranks(all, ranks);
  CollectiveQuestion question = question_of(arguments, input);
  const bool has_block = !input.algorithm.empty() && input.series.block.has_value() &&
                         algorithm_named(input.algorithm, "").takes_block;
  std::vector<double> errors;
  for (const MeasuredPoint& point : input.series.points) {
    question.messages = {point.size};
    if (has_block) question.block = std::min(*input.series.block, point.size);
    const Duration time = simulate_collective(question, cluster, "").time;
    errors.push_back(std::abs(time / point.time - 1));
  }
  return errors;
}

}  // namespace

PredictionError played_on(const Json& json, const FitArguments& arguments, FitAnswer& answer) {
  const Cluster cluster = read_cluster(Value(json, arguments.out, "")).cluster;
  const Fitted& one = answer.fits.front();
  std::vector<double> played;
  std::vector<double> fitted;
  for (const FitInput& input : one.inputs) {
    try {
      const std::vector<double> errors = errors_on(cluster, arguments, input);
      played.insert(played.end(), errors.begin(), errors.end());
      const std::vector<double> of_fit = errors_of(one.fit, input.rows);
      fitted.insert(fitted.end(), of_fit.begin(), of_fit.end());
    } catch (const InputError& error) {
      answer.notes.push_back("not simulated on the file that is written: " + label_of(input) +
                             ": " + error.what());
    }
  }
  const PredictionError on_file = summary_of(played);
  const PredictionError of_fit = summary_of(fitted);
  if (on_file.median > accepted_error && on_file.median > accepted_ratio * of_fit.median)
    answer.notes.push_back(
        "the cluster that is written predicts the measured times with a median error of " +
        rounded(in_percent(on_file.median), 3) + " %, the fit with " +
        rounded(in_percent(of_fit.median), 3) +
        " %: on this cluster the algorithm uses other links than the one that was fitted, or "
        "shares it");
  return on_file;
}

}  // namespace sgdsim
