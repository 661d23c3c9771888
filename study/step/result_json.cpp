// From durations to keys with units.
#include "study/step/result_json.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "sim/core/error.h"
#include "sim/core/nearest_rank.h"
#include "sim/core/quantity.h"
#include "study/packet_use.h"
#include "study/step/reason.h"
#include "study/step/warnings.h"
#include "study/table.h"
#include "study/version.h"
#include "study/wire_use.h"

namespace sgdsim {
namespace {

// Somewhere in the cluster or in the collective; lists too long to look into are of samples.
bool has_key(const Json& json, const std::vector<std::string>& keys) {
  if (json.is_object())
    for (const auto& [name, value] : json.items())
      if (std::find(keys.begin(), keys.end(), name) != keys.end() || has_key(value, keys))
        return true;
  if (json.is_array())
    for (const Json& one : json)
      if (has_key(one, keys)) return true;
  return false;
}

// The settings that leave it out.
std::string without_reducing(const Experiment& experiment) {
  std::string settings;
  const Json& cluster = experiment.inputs["cluster"];
  for (const auto& [name, link] : cluster.items())
    if (link.is_object() && link.contains("reduce"))
      settings += (settings.empty() ? "" : " ") + ("--set cluster." + name + ".reduce=null");
  return settings.empty() ? "reduce=null" : settings;
}

constexpr std::string_view metrics_prefix = "metrics.";

std::array<std::pair<std::string_view, Duration>, 9> lengths_of(const Breakdown& part) {
  return {{{"metrics.forward_us", part.forward},
           {"metrics.backward_us", part.backward},
           {"metrics.update_us", part.update},
           {"metrics.compression_us", part.compression},
           {"metrics.comm_total_us", part.communication},
           {"metrics.comm_exposed_us", part.exposed},
           {"metrics.comm_overlapped_us", part.overlapped},
           {"metrics.waiting_us", part.waiting},
           {"metrics.idle_us", part.idle}}};
}

}  // namespace

Json breakdown_json(const Breakdown& part) {
  Json json;
  for (const auto& [path, length] : lengths_of(part))
    json[std::string(path.substr(metrics_prefix.size()))] = length.us();
  return json;
}

Fields fields_of(const MessageRecord& message) {
  return {{"layers", std::vector<int>{message.first_layer, message.last_layer},
           "first and last layer, counted from 0 in forward order"},
          {"size_B", message.size.count(), "bytes of the message"},
          {"ready_us", message.ready.us(),
           "when all its gradients are there on the last worker, from the start of the iteration"},
          {"start_us", message.start.us(), "when everybody is there and it starts on the wire"},
          {"end_us", message.end.us(), "when the last worker has the sum"}};
}

Metrics metrics_of(const Experiment& experiment, const StepResult& result) {
  Metrics metrics;
  std::vector<Duration> sorted = result.iterations;
  std::sort(sorted.begin(), sorted.end());
  Duration sum;
  for (const Duration one : sorted) sum += one;
  const auto count = static_cast<int64_t>(sorted.size());
  if (sum == Duration())
    throw InputError(experiment.file, "the step takes no time: there is nothing to simulate");
  metrics.total_ps = sum.ps();
  metrics.mean_ps = (sum + Duration::ps(count / 2)).ps() / count;
  metrics.mean_us = static_cast<double>(sum.ps()) / static_cast<double>(count) / 1e6;
  metrics.p50_us = nearest_rank(sorted, 0.5).us();
  metrics.p95_us = nearest_rank(sorted, 0.95).us();
  metrics.p99_us = nearest_rank(sorted, 0.99).us();
  metrics.max_us = sorted.back().us();
  const Breakdown& mean = result.mean;
  metrics.overlap_ratio =
      mean.communication > Duration() ? mean.overlapped / mean.communication : 1;
  const int workers = experiment.cluster.network.workers();
  const Trace& trace = experiment.trace;
  const Duration alone = experiment.alone.value_or(
      std::max(trace.forward() + trace.backward() + trace.update, trace.load));
  if (metrics.mean_us > 0) {
    metrics.speedup = workers * alone.us() / metrics.mean_us;
    metrics.efficiency = alone.us() / metrics.mean_us;  // 1 where they are equal
    metrics.throughput_samples_per_s =
        static_cast<double>(workers) * static_cast<double>(trace.batch) / metrics.mean_us * 1e6;
  }
  return metrics;
}

double reducing_part(const Experiment& experiment, const StepResult& result) {
  const MessageCost cost = experiment.question().cost;
  if (!cost.is_algorithm() || !has_key(experiment.inputs, {"reduce", "gamma"})) return 0;
  const MessageCost without = cost.without_folds();
  Duration all, rest;
  try {
    for (const MessageRecord& message : result.messages) {
      const Encoded encoded = cost.encoded({message.size, message.first_layer, message.last_layer});
      all += cost.of(encoded);
      rest += without.of(encoded);
    }
  } catch (const InputError&) {
    return 0;  // some options have no closed form
  }
  return all > rest ? (all - rest) / all : 0;
}

Figures summary_of(const Experiment& experiment, const StepResult& result) {
  const Metrics metrics = metrics_of(experiment, result);
  Figures figures;
  figures.reserve(48);
  const auto text = [&](std::string_view path, std::string value) {
    figures.push_back({FigurePath::lasting(path), std::move(value)});
  };
  const auto whole = [&](std::string_view path, int64_t value) {
    figures.push_back({FigurePath::lasting(path), value});
  };
  const auto number = [&](std::string_view path, double value) {
    figures.push_back({FigurePath::lasting(path), value});
  };
  whole("workers", experiment.cluster.network.workers());
  text("strategy", experiment.strategy.name);
  text("collective", experiment.collective);
  text("compression", experiment.compression.empty() ? "none" : experiment.compression);
  text("synchronization", experiment.synchronization ? experiment.synchronization->name : "none");
  text("fidelity", std::string(name_of(experiment.fidelity)));
  text("path", result.path);
  whole("iteration_ps", metrics.mean_ps);
  whole("total_ps", metrics.total_ps);
  number("metrics.iteration_us.mean", metrics.mean_us);
  number("metrics.iteration_us.p50", metrics.p50_us);
  number("metrics.iteration_us.p95", metrics.p95_us);
  number("metrics.iteration_us.p99", metrics.p99_us);
  number("metrics.iteration_us.max", metrics.max_us);
  whole("metrics.iteration_us.n", static_cast<int64_t>(result.iterations.size()));
  for (const auto& [path, length] : lengths_of(result.mean)) number(path, length.us());
  number("metrics.overlap_ratio", metrics.overlap_ratio);
  number("metrics.throughput_samples_per_s", metrics.throughput_samples_per_s);
  number("metrics.speedup", metrics.speedup);
  number("metrics.efficiency", metrics.efficiency);
  whole("metrics.messages", result.message_count);
  number("metrics.wire_B", result.wire_B);
  if (result.packets) {
    add_figures(figures, "metrics.message_us",
                to_json_by_fields(spread_of_us(result.packets->took)));
    add_figures(figures, "packets", counts_json(*result.packets));
  }
  if (experiment.convergence) {
    const double iterations = experiment.convergence->iterations_at(result.quality);
    number("convergence.iterations", iterations);
    number("convergence.time_to_target_s", iterations * metrics.mean_us / 1e6);
  }
  number("quality.density", result.quality.density);
  number("quality.delivered_fraction", result.quality.delivered);
  number("quality.staleness_mean", result.quality.staleness_mean);
  number("quality.staleness_max", result.quality.staleness_max);
  return figures;
}

Json summary_json(const Experiment& experiment, const StepResult& result) {
  return json_of(summary_of(experiment, result));
}

Json result_json(const Experiment& experiment, const StepResult& result) {
  Json json = {{"schema", "sgdsim/result/1"},
               {"id", id_of(experiment.inputs)},
               {"name", experiment.name},
               {"tool", {{"version", version_number}, {"commit", version_commit}}},
               {"seed", experiment.seed}};
  if (!experiment.method.empty()) json["method"] = experiment.method;
  json.update(summary_json(experiment, result));
  if (!experiment.strategy.about.empty()) json["about_strategy"] = experiment.strategy.about;
  if (const double part = reducing_part(experiment, result); part > 0)
    json["comm_reducing_us"] = result.mean.communication.us() * part;
  Json& messages = json["messages"] = Json::array();
  for (const MessageRecord& message : result.messages)
    messages.push_back(to_json_by_fields(message));
  if (!result.critical.empty()) json["critical"] = reason_json(result);
  if (!result.wires.kinds.empty()) add_use(json, result.wires);
  if (result.packets) {
    constexpr std::size_t shown = 10;
    json["queues"] = queues_json(longest_queues(*result.packets, *result.packet_wires, shown));
    json["delivery"] = delivery_json(*result.packets, experiment.trace.layers.size());
  }
  if (result.workers.size() > 1 && result.workers.size() <= 1024) {
    json["per_worker"] = Json::array();
    for (const Breakdown& worker : result.workers)
      json["per_worker"].push_back(breakdown_json(worker));
  }
  json["warnings"] = warnings_of(experiment, result);
  json["inputs"] = experiment.inputs;
  return json;
}

void print_result(std::ostream& out, const Experiment& experiment, const StepResult& result) {
  const Metrics metrics = metrics_of(experiment, result);
  const Breakdown& mean = result.mean;
  const std::string title = experiment.name.empty() ? experiment.trace.name : experiment.name;
  out << title << ": " << (experiment.method.empty() ? "" : experiment.method + ", ")
      << experiment.strategy.name << " over " << experiment.collective << ", "
      << experiment.cluster.network.workers() << " workers, " << name_of(experiment.fidelity)
      << " (" << result.path << ")\n";
  if (!experiment.strategy.about.empty()) out << experiment.strategy.about << '\n';
  out << '\n';
  Table table({"", "", "", ""});
  auto row = [&](const std::string& name, Duration length) {
    const double share = length.us() / metrics.mean_us;
    std::string bar(static_cast<std::size_t>(std::lround(std::clamp(share, 0., 1.) * 40)), '#');
    bar.resize(40, ' ');
    table.add({name, short_duration(length.us(), 5), rounded(100 * share, 3) + " %", bar});
  };
  table.add({"iteration", short_duration(metrics.mean_us, 6), "", ""});
  if (result.iterations.size() > 1)
    table.add(
        {"  p50 / p99", short_duration(metrics.p50_us, 6), short_duration(metrics.p99_us, 6), ""});
  row("forward", mean.forward);
  row("backward", mean.backward);
  row("update", mean.update);
  if (mean.compression > Duration()) row("compression", mean.compression);
  row("exposed", mean.exposed);
  row("  of which waiting", mean.waiting);
  row("  of which idle", mean.idle);
  row("communication", mean.communication);
  const double reducing = reducing_part(experiment, result);
  if (reducing > 0)
    row("  of which reducing",
        Duration::nearest_ps(static_cast<double>(mean.communication.ps()) * reducing));
  table.print(out, 1);
  if (reducing > 0.5)
    out << "\nMost of the communication is adding up gradients, by the field reduce of the "
           "cluster's links, which few networks have: measure it, or leave it out (" +
               without_reducing(experiment) + ")\n";
  out << "\nspeed-up " << rounded(metrics.speedup) << " (efficiency "
      << rounded(100 * metrics.efficiency, 3) << " %), overlap "
      << rounded(100 * metrics.overlap_ratio, 3) << " %";
  if (metrics.throughput_samples_per_s > 0)
    out << ", " << rounded(metrics.throughput_samples_per_s) << " samples/s";
  out << "\n" << result.messages.size() << " gradient messages per iteration\n";
  if (const std::string reason = reason_text(result, experiment.trace); !reason.empty())
    out << reason << "\n";
  if (!result.wires.busiest.empty()) {
    out << "the busiest link is " << link_text(result.wires.busiest.front()) << '\n';
  }
  if (result.packets) print_packets(out, *result.packets);
  const Quality& quality = result.quality;
  if (quality.density < 1 || quality.delivered < 1 || quality.staleness_max > 0)
    out << "density " << rounded(quality.density) << ", delivered fraction "
        << rounded(quality.delivered) << ", staleness " << rounded(quality.staleness_mean)
        << " (at most " << rounded(quality.staleness_max) << ")\n";
  if (experiment.convergence) {
    const double iterations = experiment.convergence->iterations_at(quality);
    out << rounded(iterations)
        << " iterations to the target: " << short_duration(iterations * metrics.mean_us, 4) << "\n";
  }
}

}  // namespace sgdsim
