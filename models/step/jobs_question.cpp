// What can be played on shared wires, and a step that has them to itself.
#include <numeric>

#include "models/step/jobs_in_time.h"
#include "sim/core/error.h"

namespace sgdsim {

std::string JobsInTime::why_not(const StepQuestion& question, const GradientPlan& plan) {
  const Compression* compression = question.cost.compression();
  if (question.strategy->replans && pipeline_rule(question) == nullptr)
    return "strategies that plan anew in every iteration";
  if (question.interference != 1) return "interference";
  if (!question.cost.is_algorithm() && question.cost.servers() == nullptr)
    return "costs without messages";
  if (question.cost.servers() != nullptr && compression != nullptr)
    return "compression for parameter servers";
  if (compression != nullptr && !compression->densities.empty())
    return "compressions that have a density";
  for (const PlannedMessage& message : plan.messages)
    if (message.not_before > Duration()) return "messages that wait for a cycle";
  return "";
}

ServerPlaces places_of(const TrainingJob& job) {
  const ParameterServers* servers = job.question->cost.servers();
  ServerPlaces places{job.places, job.server_places};
  if (servers == nullptr || !servers->dedicated) return places;
  if (places.servers.empty())
    throw InputError("",
                     "dedicated servers have no place on the wires: the job names the places of "
                     "its `servers`; placement co_located has them");
  if (static_cast<int>(places.servers.size()) != servers->servers)
    throw InputError("", "there are " + std::to_string(servers->servers) + " servers, and " +
                             std::to_string(places.servers.size()) + " places for them");
  return places;
}

JobsQuestion alone_on_wires(const StepQuestion& question) {
  TrainingJob job{&question, {}, Time()};
  job.places.resize(static_cast<std::size_t>(question.cluster->network.workers()));
  std::iota(job.places.begin(), job.places.end(), 0);
  const Cluster& cluster = question.with_servers ? *question.with_servers : *question.cluster;
  for (int place = question.cluster->network.workers(); place < cluster.network.workers();
       place += cluster.workers_per_node)
    job.server_places.push_back(place);
  return {.jobs = {std::move(job)},
          .network = &cluster.network,
          .wires = question.wires.get(),
          .carrier = question.carrier,
          .stopper = question.stopper};
}

}  // namespace sgdsim
