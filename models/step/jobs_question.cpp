// Where the workers and servers of a job are, and a step that has its wires to itself.
#include <numeric>

#include "models/step/jobs_in_time.h"
#include "sim/core/error.h"

namespace sgdsim {

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

// It goes on behind the iterations that are measured: a message may meet one of the next iteration.
JobsQuestion alone_in_time(const StepQuestion& question, const StepSoFar& so_far) {
  TrainingJob job{&question, {}, Time(), {}, so_far, true};
  job.places.resize(static_cast<std::size_t>(question.cluster->network.workers()));
  std::iota(job.places.begin(), job.places.end(), 0);
  std::shared_ptr<const Cluster> with_servers = question.with_servers;
  if (question.wires == nullptr) with_servers = cluster_with_servers(question);
  const Cluster& cluster = with_servers ? *with_servers : *question.cluster;
  for (int place = question.cluster->network.workers(); place < cluster.network.workers();
       place += cluster.workers_per_node)
    job.server_places.push_back(place);
  return {.jobs = {std::move(job)},
          .network = &cluster.network,
          .with_servers = std::move(with_servers),
          .wires = question.wires.get(),
          .carrier = question.carrier,
          .meanwhile = question.meanwhile,
          .stopper = question.stopper};
}

}  // namespace sgdsim
