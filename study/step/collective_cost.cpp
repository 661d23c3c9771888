// From the fields to what an exchange costs: by algorithms, NCCL's model, servers or numbers.
#include <algorithm>
#include <array>

#include "models/collective/nccl_box.h"
#include "models/collective/network_defaults.h"
#include "models/collective/options.h"
#include "models/collective/registry.h"
#include "models/collective/simulate.h"
#include "sim/core/error.h"
#include "sim/core/refusal.h"
#include "study/collective/nccl_answer.h"
#include "study/collective/option_words.h"
#include "study/step/collective_field.h"
#include "topologies/wiring.h"

namespace sgdsim {
namespace {

CollectiveJob job_of(const CollectiveField& field, const Algorithm& algorithm,
                     const Cluster& cluster, Operation operation) {
  CollectiveJob job;
  job.operation = operation;
  job.team = {.size = cluster.network.workers(), .stride = 1};
  job.share = {.total = Bytes(1), .fractional = field.options.fractional_chunks, .split = {}};
  if (algorithm.takes_block || field.algorithms.size() == 1) job.block = field.block;
  job.options = with_network(field.options, cluster, algorithm, false);
  job.workers_per_node = cluster.workers_per_node;
  job.grid = cluster.grid;
  job.network = &cluster.network;
  job.on_wires = field.on_wires;
  job.cost = worst_of_job(algorithm, job);
  return job;
}

MessageCost cost_of(const CollectiveField& field, const Algorithm& algorithm,
                    const Cluster& cluster, Operation operation) {
  if (!algorithm.offers(operation))
    throw InputError("",
                     std::string(algorithm.name) + " has no " + std::string(name_of(operation)));
  const CollectiveJob job = job_of(field, algorithm, cluster, operation);
  if (job.size() > 1) schedule_of(algorithm, job);  // does it fit?
  return MessageCost::of_algorithm(algorithm, job);
}

// Of messages of any size that chunks divide: of one byte some members have nothing.
bool has_formula(const Algorithm& algorithm, CollectiveJob job) {
  constexpr int64_t of_member = 1 << 20;
  for (const int64_t size_B : {int64_t{1}, of_member * job.size()}) {
    job.share.total = Bytes(size_B);
    if (closed_form_of(algorithm, job)) return true;
  }
  return false;
}

// All that fit the cluster and have a closed form that a schedule reaches, by which they are
// compared.
MessageCost cheapest_of(const CollectiveField& field, const Cluster& cluster, Operation operation) {
  std::vector<MessageCost> costs;
  std::string why_not;
  for (const Algorithm* algorithm : field.algorithms) {
    if (!algorithm->closed_form_note.empty()) continue;
    try {
      MessageCost cost = cost_of(field, *algorithm, cluster, operation);
      if (has_formula(*algorithm, cost.job()))
        costs.push_back(std::move(cost));
      else
        why_not = no_formula("", std::string(algorithm->name)).what();
    } catch (const InputError& error) {
      why_not = error.what();
    }
  }
  if (costs.empty()) throw InputError("", "no algorithm fits: " + why_not);
  return MessageCost::cheapest(std::move(costs));
}

// What nccl_stand_in() may choose; the last one twice, with trees between nodes, too.
constexpr std::array<std::string_view, 5> nccl_stand_ins{"ring", "double_binary_tree", "lp",
                                                         "hierarchical", "hierarchical"};

MessageCost::StandIn stand_in_of(NcclAlgorithm choice, Operation operation, bool by_rails) {
  constexpr std::array<const char*, nccl_algorithm_names.size()> names{
      "tree", "ring", "CollnetDirect", "CollnetChain", "NVLS", "NVLSTree", "PAT"};
  const NcclStandIn one = nccl_stand_in(choice, operation, by_rails);
  const auto place = std::find(nccl_stand_ins.begin(), nccl_stand_ins.end(), one.algorithm->name);
  const std::size_t with_trees = one.has_trees_across ? 1 : 0;
  return {static_cast<std::size_t>(place - nccl_stand_ins.begin()) + with_trees,
          names[static_cast<std::size_t>(choice)]};
}

MessageCost nccl_cost(const CollectiveField& field, const Cluster& cluster, Operation operation) {
  MessageCost::StandIns stand_ins;
  const bool rails = has_rails(cluster);
  CollectiveField with_trees = field;
  set_option(with_trees.options, option_key(trees_across), option_value(trees_across), "");
  for (std::size_t i = 0; i < nccl_stand_ins.size(); ++i) {
    const Algorithm& algorithm = algorithm_named(std::string(nccl_stand_ins[i]), "");
    const bool is_last = i + 1 == nccl_stand_ins.size();
    // One that lacks the operation, or needs rails, is never chosen otherwise.
    const bool fits = algorithm.offers(operation) && (rails || algorithm.name != "hierarchical") &&
                      (!is_last || operation == Operation::allreduce);
    stand_ins.algorithms.push_back(
        fits ? cost_of(is_last ? with_trees : field, algorithm, cluster, operation)
             : MessageCost());
  }
  stand_ins.latency = [](Bytes) { return Duration(); };
  if (cluster.network.workers() == 1) {
    stand_ins.choose = [=](Bytes) { return stand_in_of(NcclAlgorithm::ring, operation, rails); };
    return MessageCost::of_formula([](Bytes) { return Duration(); }, std::move(stand_ins));
  }
  const NcclMachine machine = nccl_machine_of(cluster, *field.nccl);
  nccl_tuning(machine, operation, Bytes(1));  // does NCCL have it?
  stand_ins.choose = [=](Bytes size) {
    return stand_in_of(nccl_tuning(machine, operation, size).choice().algorithm, operation, rails);
  };
  stand_ins.latency = [=, launch = field.launch](Bytes size) {
    return launch + nccl_tuning(machine, operation, size).choice().latency;
  };
  return MessageCost::of_formula(
      [=, launch = field.launch](Bytes size) {
        return launch + nccl_tuning(machine, operation, size).choice().time;
      },
      std::move(stand_ins));
}

// What a byte costs between the best two workers: no collective is faster, whatever adds up the
// values.
PerByte fastest_byte(const Network& network) {
  PerByte best = network.classes().front().per_byte;
  for (const PairCost& cost : network.classes()) best = std::min(best, cost.per_byte);
  for (const SizeBand& band : network.bands()) best = std::min(best, fastest_byte(band.network));
  return best;
}

}  // namespace

bool CollectiveField::offers(Operation operation) const {
  return std::any_of(algorithms.begin(), algorithms.end(),
                     [&](const Algorithm* algorithm) { return algorithm->offers(operation); });
}

MessageCost CollectiveField::cost(const Cluster& cluster, Operation operation) const {
  if (cluster.network.crowding().any() && (servers || nccl))
    throw InputError(where, crowding_is_for(servers ? "parameter servers" : "NCCL's model"));
  if (servers) {
    if (operation != Operation::allreduce)
      servers->fail("parameter servers only sum: they have no " + std::string(name_of(operation)));
    return MessageCost::of_servers(
        read_parameter_servers(*servers, cluster.network, usual_alpha(cluster.kind)));
  }
  // One worker exchanges with nobody, whatever that costs among several.
  if (cluster.network.workers() == 1 && algorithms.empty() && !nccl)
    return MessageCost::of_lines({Line{}});
  if (curve) return MessageCost::of_curve(curve->not_faster_than(fastest_byte(cluster.network)));
  try {
    if (nccl) return nccl_cost(*this, cluster, operation);
    if (algorithms.size() == 1) return cost_of(*this, *algorithms.front(), cluster, operation);
    if (!algorithms.empty()) return cheapest_of(*this, cluster, operation);
  } catch (const InputError& error) {
    throw InputError(where, error.what());
  }
  return constants;
}

std::string CollectiveField::note_on(const Cluster& cluster) const {
  if (nccl) return nccl_note(cluster, *nccl);
  const int workers = cluster.network.workers();
  if (!measured_ranks || *measured_ranks == workers || workers == 1) return {};
  return "the curve was measured among " + std::to_string(*measured_ranks) +
         " ranks and is used unchanged among " + std::to_string(workers) +
         "; fit one for this many, or a link (--from-collective)";
}

CollectiveField CollectiveField::replaced_by(const std::string& algorithm,
                                             const std::string& named_in) const {
  CollectiveField other;
  other.name = algorithm;
  other.algorithms = {&algorithm_named(algorithm, named_in)};
  other.options.alpha = options.alpha;
  other.take_options_of(*this);
  other.where = named_in;
  return other;
}

void CollectiveField::take_options_of(const CollectiveField& field) {
  if (!algorithms.empty()) take_general_options(options, field.options);
}

}  // namespace sgdsim
