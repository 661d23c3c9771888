// Which algorithm makes a collective of a Chakra trace, and what of: rounds, or a call of all
// ranks.
#include <algorithm>

#include "models/collective/nccl_box.h"
#include "models/collective/network_defaults.h"
#include "models/collective/options.h"
#include "models/collective/simulate.h"
#include "sim/core/error.h"
#include "study/collective/option_words.h"
#include "study/jobs/part_of_cluster.h"
#include "study/replay/chakra_schedule.h"

namespace sgdsim {
namespace {

// Of those that become rounds of an algorithm.
Operation operation_of(ChakraCollective collective) {
  switch (collective) {
    case ChakraCollective::reduce:
      return Operation::reduce;
    case ChakraCollective::all_gather:
      return Operation::allgather;
    case ChakraCollective::broadcast:
      return Operation::broadcast;
    case ChakraCollective::all_to_all:
      return Operation::alltoall;
    case ChakraCollective::reduce_scatter:
    case ChakraCollective::reduce_scatter_block:
      return Operation::reduce_scatter;
    case ChakraCollective::all_reduce:
    case ChakraCollective::gather:
    case ChakraCollective::scatter:
    case ChakraCollective::barrier:
      return Operation::allreduce;
  }
  return Operation::allreduce;
}

// Everybody hears of everybody in ceil(log2 P) rounds of empty messages.
Program barrier_of(int members) {
  Phase phase;
  phase.team = {members, 1};
  phase.rounds = log2_up(members);
  phase.doubles = true;
  return Program().then(phase);
}

}  // namespace

// `network`: where that of some of the ranks is kept.
CollectiveJob ChakraSchedule::job_of(const GraphNode& node, const Group& group,
                                     std::optional<Network>& network) {
  const auto members = static_cast<int>(group.reached.size());
  CollectiveJob job;
  job.operation = operation_of(node.collective);
  job.team = {members, 1};
  job.share.total = Bytes(node.amount);
  // What a rank puts in: of an all-gather its own part.
  if (job.operation == Operation::allgather) job.share.total = Bytes(node.amount) * members;
  std::vector<int> places(group.ranks.begin(), group.ranks.end());
  job.network = question_.network;
  if (!places.empty() && question_.algorithms.of(job.operation) == nullptr)
    job.network = &network.emplace(network_at(*question_.network, places));
  job.cost = job.network->worst_of_band();
  job.options.alpha = question_.alpha;
  job.options.given = {"alpha"};
  job.on_wires = question_.on_wires;
  if (question_.cluster == nullptr) return job;
  for (int rank = 0; group.ranks.empty() && rank < members; ++rank) places.push_back(rank);
  job.workers_per_node = places_per_node(places, question_.cluster->workers_per_node);
  const bool are_all = members == question_.cluster->network.workers() &&
                       std::is_sorted(places.begin(), places.end());
  if (are_all) job.grid = question_.cluster->grid;
  return job;
}

// Among those of rounds, by what the worst pair costs, or what NCCL's model chooses.
const Algorithm& ChakraSchedule::algorithm_for(CollectiveJob& job) const {
  if (question_.algorithms.is_nccl(job.operation)) {
    if (question_.cluster == nullptr)
      throw InputError("--algorithm", "nccl is chosen for the machine of a --cluster; give one");
    const Cluster& cluster = *question_.cluster;
    const NcclMachine machine =
        nccl_communicator(nccl_box_of(cluster), job.size(), std::max(1, job.workers_per_node));
    const Bytes size = std::max(Bytes(1), job.share.total);
    const bool by_rails = has_rails(cluster, job.size(), job.workers_per_node);
    const NcclRow choice = nccl_tuning(machine, job.operation, size).choice();
    const NcclStandIn one = nccl_stand_in(choice.algorithm, job.operation, by_rails);
    // Trees have blocks, where rings do as well.
    if (one.has_trees_across && question_.shares)
      set_option(job.options, option_key(trees_across), option_value(trees_across), "");
    job.launch = launch_for(choice.latency, *one.algorithm, sent_by(*one.algorithm, job));
    return *one.algorithm;
  }
  const auto time_of = [&](const Algorithm& one) {
    const CollectiveJob its = sent_by(one, job);
    const auto time = closed_form_of(one, its);
    if (!rounds_of(schedule_of(one, its)) || !time)
      throw InputError("--algorithm", "has no rounds to replay");
    return time->s();
  };
  return question_.algorithms.cheapest(job.operation, time_of);
}

CollectiveJob ChakraSchedule::sent_by(const Algorithm& algorithm, CollectiveJob job) const {
  if (question_.cluster != nullptr)
    job.options = with_network(job.options, *question_.cluster, algorithm, false);
  return job;
}

const ChakraSchedule::Made& ChakraSchedule::made_for(const GraphNode& node, const Group& group) {
  const auto [found, is_new] =
      programs_.try_emplace({node.collective, node.amount, node.group}, Made());
  Made& made = found->second;
  const auto members = static_cast<int>(group.reached.size());
  if (!is_new || members == 1) return made;
  if (node.collective == ChakraCollective::barrier) {
    made.program = barrier_of(members);
    return made;
  }
  std::optional<Network> network;
  CollectiveJob job = job_of(node, group, network);
  const Algorithm& algorithm = algorithm_for(job);
  try {
    made.program = schedule_of(algorithm, sent_by(algorithm, job));
  } catch (const InputError& error) {
    throw InputError("--algorithm", error.what());
  }
  operations_.insert(job.operation);
  algorithms_.insert(algorithm.name);
  is_like_nccl_ = is_like_nccl_ || question_.algorithms.is_nccl(job.operation);
  if (rounds_of(made.program)) return made;
  if (!question_.shares)
    throw InputError("--algorithm", std::string(algorithm.name) +
                                        " has blocks of pipelines or barriers, which meet other "
                                        "messages only where ports or wires are shared: add "
                                        "--ports shared or --fidelity flow");
  made.number = schedule_.add_program(made.program, question_.pays_folds);
  return made;
}

}  // namespace sgdsim
