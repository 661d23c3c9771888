// Sums over the nodes of each step.
#include "models/diagnose/step_times.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace sgdsim::diagnose {
namespace {

std::size_t at(TimePart part) { return static_cast<std::size_t>(part); }

using Link = std::pair<int, int>;
std::map<Link, std::size_t> links_of(const StepWork& work) {
  std::map<Link, std::size_t> links;
  for (const Node& node : work.nodes)
    if (node.peer >= 0)
      links[{std::min(node.worker, node.peer), std::max(node.worker, node.peer)}] = 0;
  std::size_t next = static_cast<std::size_t>(work.workers() + work.stages);
  for (auto& [link, number] : links) number = next++;
  return links;
}

}  // namespace

TimePart time_part_of(Recorded kind) {
  switch (kind) {
    case Recorded::forward:
      return TimePart::forward;
    case Recorded::backward:
    case Recorded::weights:
      return TimePart::backward;
    case Recorded::forward_send:
    case Recorded::forward_receive:
    case Recorded::backward_send:
    case Recorded::backward_receive:
      return TimePart::sends;
    case Recorded::gather:
    case Recorded::reduce:
    case Recorded::separate:
    case Recorded::layer_norm:
      return TimePart::replicas;
    case Recorded::embedding:
      return TimePart::embedding;
    case Recorded::clip:
      return TimePart::clipping;
    case Recorded::optimizer:
      return TimePart::optimizer;
    case Recorded::collection:
      return TimePart::collection;
  }
  return TimePart::forward;
}

std::vector<Part> causes_of(const StepWork& work) {
  std::vector<Part> causes;
  for (int worker = 0; worker < work.workers(); ++worker)
    causes.push_back({.kind = PartKind::worker, .worker = worker});
  for (int stage = 0; stage < work.stages; ++stage)
    causes.push_back({.kind = PartKind::replicas, .stage = stage});
  for (const auto& [link, number] : links_of(work))
    causes.push_back({.kind = PartKind::link, .worker = link.first, .peer = link.second});
  return causes;
}

std::vector<StepTimes> step_times_of(const StepWork& work) {
  const std::map<Link, std::size_t> links = links_of(work);
  std::vector<StepTimes> steps(work.steps.size());
  const std::vector<Duration> played = play(work, work.recorded);
  for (std::size_t i = 0; i < steps.size(); ++i) {
    steps[i].step = work.steps[i];
    steps[i].time_s = work.longest[i].s();
    steps[i].causes.resize(static_cast<std::size_t>(work.workers() + work.stages) + links.size());
    // Delays are those of the step, not of a worker.
    steps[i].times[at(TimePart::launch)] =
        (work.longest[i] - played[i]).s() * static_cast<double>(work.workers());
  }
  for (std::size_t i = 0; i < work.nodes.size(); ++i) {
    const Node& node = work.nodes[i];
    StepTimes& step = steps[static_cast<std::size_t>(node.step)];
    const double length_s = work.recorded[i].s();
    step.times[at(time_part_of(node.kind))] += length_s;
    step.times[at(TimePart::waiting)] += work.waited[i].s();
    if (!is_communication(node.kind))
      step.causes[static_cast<std::size_t>(node.worker)] += length_s;
    if (time_part_of(node.kind) == TimePart::replicas)
      step.causes[static_cast<std::size_t>(work.workers() + work.stage_of(node.worker))] +=
          length_s / work.replicas;
    if (node.peer >= 0)
      step.causes[links.at({std::min(node.worker, node.peer), std::max(node.worker, node.peer)})] +=
          length_s / 2;
  }
  for (StepTimes& step : steps)
    for (double& one : step.times) one /= static_cast<double>(work.workers());
  return steps;
}

PartTimes mean_of(const std::vector<StepTimes>& steps) {
  PartTimes mean{};
  for (const StepTimes& step : steps)
    for (std::size_t i = 0; i < time_part_count; ++i)
      mean[i] += step.times[i] / static_cast<double>(steps.size());
  return mean;
}

std::vector<Explanation> explain(const StepWork& predicted, const PartTimes& measured_times,
                                 double measured_s, double predicted_s) {
  const PartTimes times = mean_of(step_times_of(predicted));
  const double delays_s = predicted_s - played_s(predicted, predicted.recorded);
  const double difference_s = measured_s - predicted_s;
  std::vector<Explanation> found;
  if (difference_s == 0) return found;
  for (std::size_t i = 0; i < time_part_count; ++i) {
    const auto part = static_cast<TimePart>(i);
    if (part == TimePart::waiting) continue;  // it follows from the others
    double other_s = predicted_s;
    double factor = 1;
    if (part == TimePart::launch) {
      other_s += measured_times[i] - delays_s;
    } else if (times[i] > 0) {
      factor = measured_times[i] / times[i];
      std::vector<Duration> lengths = predicted.recorded;
      for (std::size_t node = 0; node < lengths.size(); ++node)
        if (time_part_of(predicted.nodes[node].kind) == part)
          lengths[node] = Duration::nearest_ps(static_cast<double>(lengths[node].ps()) * factor);
      other_s = played_s(predicted, lengths) + delays_s;
    } else {
      other_s += measured_times[i];
    }
    found.push_back({part, factor, 1 - std::abs(measured_s - other_s) / std::abs(difference_s)});
  }
  std::stable_sort(found.begin(), found.end(), [](const Explanation& a, const Explanation& b) {
    return a.explained > b.explained;
  });
  return found;
}

}  // namespace sgdsim::diagnose
