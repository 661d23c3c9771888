// From durations to keys with units.
#include "study/step/result_json.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "models/step/asynchronous_workers.h"
#include "sim/core/error.h"
#include "sim/core/nearest_rank.h"
#include "sim/core/quantity.h"
#include "study/packet_use.h"
#include "study/step/reason.h"
#include "study/step/warnings.h"
#include "study/table.h"
#include "study/transport_choice.h"
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

}  // namespace

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
  const Duration alone = experiment.one_worker();
  if (metrics.mean_us > 0) {
    metrics.speedup = workers * alone.us() / metrics.mean_us;
    metrics.efficiency = alone.us() / metrics.mean_us;  // 1 where they are equal
    metrics.throughput_samples_per_s = static_cast<double>(workers) *
                                       static_cast<double>(experiment.trace.batch) /
                                       metrics.mean_us * 1e6;
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

void print_result(std::ostream& out, const Experiment& experiment, const StepResult& result) {
  const Metrics metrics = metrics_of(experiment, result);
  const Breakdown& mean = result.mean;
  const std::string title = experiment.name.empty() ? experiment.trace.name : experiment.name;
  out << title << ": " << (experiment.method.empty() ? "" : experiment.method + ", ")
      << experiment.strategy.name << " over " << experiment.collective << ", "
      << experiment.cluster.network.workers() << " workers, "
      << sent_text(experiment.fidelity, experiment.transport) << " (" << result.path << ")\n";
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
  if (asynchronous_rule(experiment.question()) != nullptr)
    out << "\neach worker pushes all gradients in one message\n";
  else
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
