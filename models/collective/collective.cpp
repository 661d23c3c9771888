// Names, checks and the common ground of all algorithms.
#include "models/collective/collective.h"

#include <algorithm>
#include <numeric>

#include "models/collective/registry.h"
#include "sim/core/error.h"
#include "sim/core/json.h"
#include "sim/core/quantity.h"
#include "sim/net/cluster.h"
#include "sim/play/sharing.h"

namespace sgdsim {
namespace {

std::string algorithms_that_offer(Operation operation) {
  std::string list;
  for (const Algorithm& algorithm : algorithms())
    if (algorithm.offers(operation))
      list += (list.empty() ? "" : ", ") + std::string(algorithm.name);
  return list;
}

void check(const Algorithm& algorithm, const CollectiveJob& job) {
  if (!algorithm.offers(job.operation))
    throw InputError("", std::string(algorithm.name) + " has no " +
                             std::string(name_of(job.operation)) +
                             "; those that have: " + algorithms_that_offer(job.operation));
  if (job.root && !has_root(job.operation))
    throw InputError("", std::string(name_of(job.operation)) +
                             " has no root; broadcast, reduce and allreduce have");
  if (job.root && (*job.root < 0 || *job.root >= job.size()))
    throw InputError("", "root " + std::to_string(*job.root) + " is out of range: there are " +
                             std::to_string(job.size()) + " ranks, 0 to " +
                             std::to_string(job.size() - 1));
  if (job.block && job.block->count() == 0)
    throw InputError("", "a block of 0 bytes never ends; expected at least 1 B");
  if (job.options.shares_ports && job.network != nullptr && job.network->crowding().any())
    throw InputError("", crowding_is_for("ports=shared"));
  if (algorithm.check != nullptr) algorithm.check(job);
}

// The job of each message of a sequence that is not streamed.
std::vector<CollectiveJob> one_by_one(const Algorithm& algorithm, const CollectiveJob& job) {
  if (algorithm.streams != nullptr && algorithm.streams(job.options)) return {job};
  std::vector<CollectiveJob> jobs{job};
  jobs.front().following.clear();
  for (const Bytes size : job.following) {
    jobs.push_back(jobs.front());
    jobs.back().share.total = size;
  }
  return jobs;
}

bool costs_nothing(const CollectiveJob& job) {
  return job.size() == 1 ||
         (job.share.total == Bytes() && std::all_of(job.following.begin(), job.following.end(),
                                                    [](Bytes size) { return size == Bytes(); }));
}

}  // namespace

const std::vector<std::string>& operation_names() {
  static const std::vector<std::string> names = {"broadcast",      "reduce",    "allreduce",
                                                 "reduce_scatter", "allgather", "alltoall"};
  return names;
}

std::string_view name_of(Operation operation) {
  return operation_names()[static_cast<std::size_t>(operation)];
}

Operation operation_named(const std::string& name, const std::string& where) {
  const std::vector<std::string>& names = operation_names();
  const auto found = std::find(names.begin(), names.end(), name);
  if (found == names.end()) throw InputError(where, unknown_name("operation", name, names));
  return static_cast<Operation>(found - names.begin());
}

bool has_root(Operation operation) {
  return operation == Operation::broadcast || operation == Operation::reduce ||
         operation == Operation::allreduce;
}

bool Algorithm::offers(Operation operation) const {
  return std::find(operations.begin(), operations.end(), operation) != operations.end();
}

std::optional<Duration> Algorithm::formula(const CollectiveJob& job) const {
  return job.waits_for_answers() && !waits_each_round ? std::nullopt : closed_form(job);
}

const Algorithm& algorithm_named(const std::string& name, const std::string& where) {
  std::vector<std::string> names;
  for (const Algorithm& algorithm : algorithms()) {
    if (algorithm.name == name) return algorithm;
    names.emplace_back(algorithm.name);
  }
  throw InputError(where, unknown_name("algorithm", name, names));
}

Program schedule_of(const Algorithm& algorithm, const CollectiveJob& job) {
  check(algorithm, job);
  Program program;
  for (const CollectiveJob& one : one_by_one(algorithm, job)) {
    if (costs_nothing(one)) continue;
    if (!program.stages.empty()) program.then(Barrier{job.team});
    if (one.start() > Duration()) program.then(Launch{one.start()});
    program.then(algorithm.schedule(one));
  }
  return program;
}

std::optional<Duration> closed_form_of(const Algorithm& algorithm, const CollectiveJob& job) {
  check(algorithm, job);
  Duration sum;
  for (const CollectiveJob& one : one_by_one(algorithm, job)) {
    if (costs_nothing(one)) continue;
    const auto time = algorithm.formula(one);
    if (!time) return std::nullopt;
    sum += one.start() + *time;
  }
  return sum;
}

namespace {

struct Senders {
  int end = 0;
  int step = 1;
};

// Workers that stand for all: in nested groups everything repeats after a whole number of teams and
// of the largest groups, and lanes that lie in the same groups are alike.
Senders unlike_senders(const Network& network, const Team& team) {
  Senders senders{network.workers(), 1};
  const NestedGroups* nested = network.nested();
  if (nested == nullptr || nested->group_sizes.empty() || team.only_lane >= 0) return senders;
  int64_t period = int64_t{team.size} * team.stride;
  bool are_alike = true;
  for (const int group : nested->group_sizes) {
    period = std::lcm(period, int64_t{group});
    are_alike = are_alike && group % team.stride == 0;
    if (period >= senders.end) period = senders.end;
  }
  senders.end = static_cast<int>(std::min<int64_t>(senders.end, period));
  if (are_alike) senders.step = team.stride;
  return senders;
}

PairCost worst_in_band(const Network& network, const Team& team) {
  const int64_t pairs = static_cast<int64_t>(network.workers()) * team.size;
  // All pairs of a large team: the worst of the network, which then has such a pair.
  if (team.size == network.workers() || pairs > 4'000'000) return network.worst_of_band();
  if (network.ports().empty() && network.classes().size() == 1) return network.classes().front();
  PairCost worst;
  const Senders senders = unlike_senders(network, team);
  for (int from = 0; from < senders.end; from += senders.step) {
    if (!team.takes_part(from)) continue;
    for (int v = 0; v < team.size; ++v) {
      const int to = team.colleague(from, v);
      if (to == from) continue;
      const PairCost cost = network.between(from, to);
      worst = worst_of(worst, cost);
    }
  }
  return worst;
}

}  // namespace

TeamCost worst_in_team(const Network& network, const Team& team) {
  TeamCost cost;
  cost.smallest = worst_in_band(network, team);
  for (const SizeBand& band : network.bands())
    cost.from.emplace_back(band.from_B, worst_in_band(band.network, team));
  return cost;
}

TeamCost worst_of_job(const Algorithm& algorithm, const CollectiveJob& job) {
  const Network& network = *job.network;
  TeamCost cost = worst_in_team(network, job.team);
  if (!network.has_loads()) return cost;
  CollectiveJob one = job;
  one.following.clear();
  one.cost = cost;
  one.share.total =
      std::max(job.share.total, Bytes(job.size()));  // a schedule of no bytes is empty
  const WayLoads loads = most_loads(network, schedule_of(algorithm, one));
  cost.smallest.per_byte = network.through_slowest_ways(cost.smallest.per_byte, loads);
  for (std::size_t band = 0; band < cost.from.size(); ++band) {
    PerByte& rate = cost.from[band].second.per_byte;
    rate = network.bands()[band].network.through_slowest_ways(rate, loads);
  }
  return cost;
}

}  // namespace sgdsim
