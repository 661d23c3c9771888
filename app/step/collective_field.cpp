// Reading `collective`, and what it costs on a cluster.
#include "app/step/collective_field.h"

#include <algorithm>

#include "app/collective/nccl_answer.h"
#include "models/collective/options.h"
#include "models/collective/registry.h"
#include "models/collective/simulate.h"
#include "sim/core/error.h"
#include "topologies/wiring.h"

namespace sgdsim {
namespace {

std::vector<Line> read_lines(Object& fields) {
  auto line = [](Object& one) {
    return Line{static_cast<double>(one.at("start_up").duration().ps()),
                one.at("per_byte").per_byte().ps()};
  };
  if (const auto lines = fields.find("lines")) {
    std::vector<Line> all;
    for (const Value& item : lines->items()) {
      Object one(item);
      all.push_back(line(one));
      one.done();
    }
    if (all.empty()) lines->fail("expected at least one line");
    return all;
  }
  return {line(fields)};
}

CollectiveJob job_of(const CollectiveField& field, const Algorithm& algorithm,
                     const Cluster& cluster, Operation operation) {
  CollectiveJob job;
  job.operation = operation;
  job.team = {.size = cluster.network.workers(), .stride = 1};
  job.share = {.total = Bytes(1), .fractional = field.options.fractional_chunks, .split = {}};
  if (algorithm.takes_block || field.algorithms.size() == 1) job.block = field.block;
  job.options = field.options;
  job.workers_per_node = cluster.workers_per_node;
  job.grid = cluster.grid;
  job.network = &cluster.network;
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

// All that fit the cluster and have a closed form that a schedule reaches, by which they are
// compared.
MessageCost cheapest_of(const CollectiveField& field, const Cluster& cluster, Operation operation) {
  std::vector<MessageCost> costs;
  std::string why_not;
  for (const Algorithm* algorithm : field.algorithms) {
    if (!algorithm->closed_form_note.empty()) continue;
    try {
      MessageCost cost = cost_of(field, *algorithm, cluster, operation);
      if (closed_form_of(*algorithm, cost.job())) costs.push_back(std::move(cost));
    } catch (const InputError& error) {
      why_not = error.what();
    }
  }
  if (costs.empty()) throw InputError("", "no algorithm fits: " + why_not);
  return MessageCost::cheapest(std::move(costs));
}

MessageCost nccl_cost(const Cluster& cluster, const std::vector<std::string>& options,
                      Operation operation) {
  if (cluster.network.workers() == 1) return MessageCost::of_lines({{0, 0}});
  const NcclMachine machine = nccl_machine_of(cluster, options);
  nccl_tuning(machine, operation, Bytes(1));  // does NCCL have it?
  return MessageCost::of_formula(
      [=](Bytes size) { return nccl_tuning(machine, operation, size).choice().time; });
}

// The options of an object as key and text.
template <class F>
void for_each_option(Object& fields, const F& f) {
  if (const auto given = fields.find("options"))
    for (const auto& [key, option] : given->entries())
      f(key, option.json().is_string() ? option.text() : option.json().dump(), option);
}

void read_nccl(Object& fields, CollectiveField& collective) {
  collective.name = "nccl";
  collective.nccl.emplace();
  for_each_option(fields, [&](const std::string& key, const std::string& text, const Value&) {
    collective.nccl->push_back(key + "=" + text);
  });
}

void read_algorithm(Object& fields, const Value& name, CollectiveField& collective) {
  const bool automatic = name.text() == "auto";
  if (automatic)
    for (const Algorithm& algorithm : algorithms()) collective.algorithms.push_back(&algorithm);
  else
    collective.algorithms = {&algorithm_named(name.text(), name.where())};
  for_each_option(fields, [&](const std::string& key, const std::string& text,
                              const Value& option) {
    set_option(collective.options, key, text, option.where());
    if (!automatic)
      check_option_applies(*collective.algorithms.front(), collective.options, key, option.where());
  });
  if (const auto given = fields.find("block")) collective.block = given->bytes();
  collective.name = name.text();
}

}  // namespace

bool CollectiveField::offers(Operation operation) const {
  return std::any_of(algorithms.begin(), algorithms.end(),
                     [&](const Algorithm* algorithm) { return algorithm->offers(operation); });
}

MessageCost CollectiveField::cost(const Cluster& cluster, Operation operation) const {
  if (servers) {
    if (operation != Operation::allreduce)
      servers->fail("parameter servers only sum: they have no " + std::string(name_of(operation)));
    return MessageCost::of_servers(read_parameter_servers(*servers, cluster.network));
  }
  try {
    if (nccl) return nccl_cost(cluster, *nccl, operation);
    if (algorithms.size() == 1) return cost_of(*this, *algorithms.front(), cluster, operation);
    if (!algorithms.empty()) return cheapest_of(*this, cluster, operation);
  } catch (const InputError& error) {
    throw InputError(where, error.what());
  }
  return constants;
}

std::string CollectiveField::beyond_measured(const Cluster& cluster) const {
  const int workers = cluster.network.workers();
  if (!measured_ranks || *measured_ranks == workers) return {};
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
  other.where = named_in;
  return other;
}

CollectiveField read_collective(const Value& value) {
  CollectiveField collective;
  Object fields(value);
  collective.where = value.where();
  if (const auto samples = fields.find("samples")) {
    if (const auto schema = fields.find("schema");
        schema && schema->text() != "sgdsim/collective-cost/1")
      schema->fail("expected \"sgdsim/collective-cost/1\", got \"" + schema->text() + "\"");
    if (const auto source = fields.find("source")) source->text();
    if (const auto ranks = fields.find("ranks"))
      collective.measured_ranks = static_cast<int>(ranks->whole(1, most_workers));
    collective.name = "measured curve";
    collective.constants = MessageCost::of_curve(read_curve(*samples));
    fields.done();
    return collective;
  }
  if (const auto servers = fields.find("parameter_server")) {
    collective.name = "parameter servers";
    collective.servers = *servers;
    fields.done();
    return collective;
  }
  if (fields.has("start_up") || fields.has("lines")) {
    collective.name = "a + bM";
    collective.constants = MessageCost::of_lines(read_lines(fields));
    fields.done();
    return collective;
  }
  const Value name = fields.at("algorithm");
  if (name.text() == "nccl")
    read_nccl(fields, collective);
  else
    read_algorithm(fields, name, collective);
  fields.done();
  return collective;
}

}  // namespace sgdsim
