// The same experiment with one thing changed, each simulated anew.
#include "study/need/experiment_breaks.h"

#include <algorithm>

#include "sim/core/cast.h"
#include "sim/core/error.h"
#include "sim/core/quantity.h"
#include "study/need/link_classes.h"
#include "study/step/collective_field.h"
#include "study/step/result_json.h"
#include "study/step/simulated.h"

namespace sgdsim {
namespace {

constexpr double half = 0.5;

// Parts that add up to the step.
PartTimes parts_in(const Breakdown& taken) {
  return {{"computing", (taken.forward + taken.backward + taken.update).us()},
          {"compression", taken.compression.us()},
          {"exposed communication", (taken.exposed - taken.waiting - taken.idle).us()},
          {"waiting", taken.waiting.us()},
          {"idle time", taken.idle.us()}};
}

StepTaken taken_in(const Experiment& experiment, const StepResult& result) {
  return {metrics_of(experiment, result).mean_us, parts_in(result.mean)};
}

StepTaken taken_by(const Experiment& experiment, Stopper& stopper) {
  stopper.restart();
  return taken_in(experiment, simulated(experiment, nullptr, &stopper));
}

StepTaken taken_by(const ResolvedExperiment& resolved, Stopper& stopper) {
  return taken_by(read_experiment(resolved), stopper);
}

StepTaken taken_without(const ResolvedExperiment& resolved, const SpareLink& link,
                        Stopper& stopper) {
  Experiment experiment = read_experiment(resolved);
  TrafficFile traffic = experiment.traffic ? *experiment.traffic : TrafficFile();
  close_link(traffic, link);
  experiment.traffic = std::make_shared<const TrafficFile>(std::move(traffic));
  return taken_by(experiment, stopper);
}

ResolvedExperiment on_cluster(ResolvedExperiment resolved, Json cluster) {
  resolved.json["cluster"] = std::move(cluster);
  return resolved;
}

void add_links(const ResolvedExperiment& resolved, const Json& cluster, Stopper& stopper,
               bool on_wires, BreakList& list) {
  const ClusterFile file = read_cluster(Value(cluster, resolved.file, "/cluster"));
  for (const LinkClass& link : link_classes(cluster)) {
    const auto at = [&](double part) {
      return taken_by(on_cluster(resolved, with_slower(cluster, link.name, part)), stopper);
    };
    const StepTaken at_half = at(half);
    list.add(link.name, link.says, "half", at_half);
    if (const auto gone = with_one_gone(cluster, link.name))
      list.add(link.name, gone->says, "gone",
               taken_by(on_cluster(resolved, gone->cluster), stopper));
    else if (const auto spare = spare_link(file, link); spare && on_wires)
      list.add(link.name, spare->says, "gone", taken_without(resolved, *spare, stopper));
    else if (list.is_used(at_half.step_us, [&] { return at(crawling_rate); }))
      spare ? list.add_carried(link.says) : list.add_stop(link.says);
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

// The first of which the experiment says nothing.
int usual_worker(const Json& slow) {
  int worker = 0;
  const auto is_listed = [&] {
    return std::any_of(slow.begin(), slow.end(),
                       [&](const Json& one) { return one.value("worker", -1) == worker; });
  };
  while (is_listed()) ++worker;
  return worker;
}

Json slow_workers(const Json& experiment) {
  if (!experiment.contains("workers") || !experiment["workers"].is_object()) return Json::array();
  return experiment["workers"].value("slow", Json::array());
}

// All others only wait for it: what grew is what grew of this worker.
void add_slow_worker(const ResolvedExperiment& resolved, const StepTaken& base,
                     const std::vector<Breakdown>& before, Stopper& stopper, BreakList& list) {
  const auto worker = at(usual_worker(slow_workers(resolved.json)));
  const Experiment slower =
      read_experiment(with_settings(resolved, {slow_worker_setting(resolved.json, 1 / half)}));
  stopper.restart();
  const StepResult result = simulated(slower, nullptr, &stopper);
  StepTaken taken = taken_in(slower, result);
  if (worker < result.workers.size()) {
    const PartTimes whole = parts_in(before[std::min(worker, before.size() - 1)]);
    taken.parts = parts_in(result.workers[worker]);
    for (std::size_t i = 0; i < whole.size(); ++i)
      taken.parts[i].second += base.parts[i].second - whole[i].second;
  }
  list.add("worker", "a worker", "half", taken);
}

}  // namespace

std::string slow_worker_setting(const Json& experiment, double factor) {
  Json slow = slow_workers(experiment);
  slow.push_back({{"worker", usual_worker(slow)}, {"factor", factor}});
  return "workers.slow=" + slow.dump();
}

Breaks breaks_of(const ResolvedExperiment& resolved, Stopper& stopper) {
  const Json cluster = resolved.json.value("cluster", Json::object());
  const Experiment experiment = read_experiment(resolved);
  stopper.restart();
  const StepResult whole = simulated(experiment, nullptr, &stopper);
  const StepTaken base = taken_in(experiment, whole);
  BreakList list(base, experiment.cluster.network.workers());
  if (gives_costs(resolved.json)) {
    add_given_costs(resolved, stopper, list);
  } else {
    add_links(resolved, cluster, stopper, is_on_wires(experiment.fidelity), list);
  }
  add_slow_worker(resolved, base, whole.workers, stopper, list);
  if (!gives_costs(resolved.json)) add_gone_node(resolved, experiment.cluster, stopper, list);
  return std::move(list).breaks();
}

}  // namespace sgdsim
