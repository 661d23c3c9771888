// The same experiment with one thing changed, each simulated anew.
#include "study/need/experiment_breaks.h"

#include <algorithm>

#include "sim/core/error.h"
#include "sim/core/quantity.h"
#include "study/need/link_classes.h"
#include "study/step/collective_field.h"
#include "study/step/result_json.h"
#include "study/step/simulated.h"

namespace sgdsim {
namespace {

constexpr double half = 0.5;

StepTaken taken_by(const ResolvedExperiment& resolved, Stopper& stopper) {
  stopper.restart();
  const Experiment experiment = read_experiment(resolved);
  const StepResult result = simulated(experiment, nullptr, &stopper);
  const Json metrics = summary_json(experiment, result)["metrics"];
  const auto us = [&](const char* name) { return metrics[name].get<double>(); };
  return {metrics_of(experiment, result).mean_us,
          {{"computing", us("forward_us") + us("backward_us") + us("update_us")},
           {"compression", us("compression_us")},
           {"exposed communication", us("comm_exposed_us")},
           {"waiting", us("waiting_us")},
           {"idle time", us("idle_us")}}};
}

ResolvedExperiment on_cluster(ResolvedExperiment resolved, Json cluster) {
  resolved.json["cluster"] = std::move(cluster);
  return resolved;
}

void add_links(const ResolvedExperiment& resolved, const Json& cluster, Stopper& stopper,
               BreakList& list) {
  for (const LinkClass& link : link_classes(cluster)) {
    const auto at = [&](double part) {
      return taken_by(on_cluster(resolved, with_slower(cluster, link.name, part)), stopper);
    };
    const StepTaken at_half = at(half);
    list.add(link.name, link.says, "half", at_half);
    if (const auto gone = with_one_gone(cluster, link.name))
      list.add(link.name, gone->says, "gone",
               taken_by(on_cluster(resolved, gone->cluster), stopper));
    else
      list.add_stop_if_used(link.says, at_half.step_us, [&] { return at(crawling_rate); });
  }
}

// What an exchange costs is given, for these links and this number of workers: only its bytes can
// take longer.
void add_given_costs(ResolvedExperiment resolved, Stopper& stopper, BreakList& list) {
  Json& costs = resolved.json["collective"];
  if (costs.contains("samples")) return;  // a measured curve
  const auto slow_down = [](Json& line) {
    if (!line.contains("per_byte")) return;
    const PerByte per_byte = parse_per_byte(line["per_byte"].get<std::string>(), "per_byte");
    line["per_byte"] = to_text(per_byte * (1 / half));
  };
  slow_down(costs);
  if (costs.contains("lines"))
    for (Json& line : costs["lines"]) slow_down(line);
  list.add("collective", "what all messages go through (collective.per_byte)", "half",
           taken_by(resolved, stopper));
}

// With a node fewer, where the cluster can do with any number.
void add_gone_node(const ResolvedExperiment& resolved, const Cluster& cluster, Stopper& stopper,
                   BreakList& list) {
  const int64_t nodes = cluster.network.workers() / cluster.workers_per_node;
  const std::string what = cluster.workers_per_node > 1 ? "a node" : "a worker";
  if (nodes < 2) return list.add_stop(what);
  try {
    StepTaken taken =
        taken_by(with_settings(resolved, {"cluster.nodes=" + std::to_string(nodes - 1)}), stopper);
    taken.work = static_cast<double>(nodes - 1) / static_cast<double>(nodes);
    list.add("worker", what, "gone", taken);
  } catch (const InputError&) {
    list.add_stop(what);
  }
}

}  // namespace

std::string slow_worker_setting(const Json& experiment, double factor) {
  Json slow = Json::array();
  if (experiment.contains("workers") && experiment["workers"].is_object())
    slow = experiment["workers"].value("slow", Json::array());
  int worker = 0;
  const auto is_listed = [&] {
    return std::any_of(slow.begin(), slow.end(),
                       [&](const Json& one) { return one.value("worker", -1) == worker; });
  };
  while (is_listed()) ++worker;
  slow.push_back({{"worker", worker}, {"factor", factor}});
  return "workers.slow=" + slow.dump();
}

Breaks breaks_of(const ResolvedExperiment& resolved, Stopper& stopper) {
  const Json cluster = resolved.json.value("cluster", Json::object());
  const Experiment experiment = read_experiment(resolved);
  BreakList list(taken_by(resolved, stopper), experiment.cluster.network.workers());
  if (gives_costs(resolved.json)) {
    add_given_costs(resolved, stopper, list);
  } else {
    add_links(resolved, cluster, stopper, list);
  }
  list.add(
      "worker", "a worker", "half",
      taken_by(with_settings(resolved, {slow_worker_setting(resolved.json, 1 / half)}), stopper));
  if (!gives_costs(resolved.json)) add_gone_node(resolved, experiment.cluster, stopper, list);
  return std::move(list).breaks();
}

}  // namespace sgdsim
