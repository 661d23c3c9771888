// A name stands for what its algorithm offers; other operations keep theirs.
#include "models/collective/algorithm_choice.h"

#include <algorithm>
#include <optional>

#include "models/collective/nccl_box.h"
#include "models/collective/registry.h"
#include "sim/core/error.h"
#include "sim/core/json.h"

namespace sgdsim {
namespace {

constexpr char cheapest_name[] = "auto";
constexpr char nccl_name[] = "nccl";

const Algorithm* named(const std::string& name, const std::string& where) {
  if (name == cheapest_name || name == nccl_name) return nullptr;
  for (const Algorithm& algorithm : algorithms())
    if (algorithm.name == name) return &algorithm;
  std::vector<std::string> known = {cheapest_name, nccl_name};
  for (const Algorithm& algorithm : algorithms()) known.emplace_back(algorithm.name);
  throw InputError(where, unknown_name("algorithm", name, known));
}

}  // namespace

const AlgorithmChoice::Chosen& AlgorithmChoice::usual() {
  static const Chosen chosen = [] {
    Chosen all{};
    for (std::size_t i = 0; i < all.size(); ++i) {
      const auto operation = static_cast<Operation>(i);
      const Algorithm& ring = algorithm_named("ring", "");
      all[i] = ring.offers(operation)             ? &ring
               : operation == Operation::alltoall ? &algorithm_named("direct", "")
                                                  : &algorithm_named("mst", "");
    }
    return all;
  }();
  return chosen;
}

AlgorithmChoice::AlgorithmChoice() : chosen_(usual()) {}

void AlgorithmChoice::add(const std::string& text, const std::string& where) {
  const std::size_t equals = text.find('=');
  const std::string name = equals == text.npos ? text : text.substr(equals + 1);
  std::optional<Operation> only;
  if (equals != text.npos) only = operation_named(text.substr(0, equals), where);
  const Algorithm* algorithm = named(name, where);
  const bool is_nccl = algorithm == nullptr && name == nccl_name;
  const auto does = [&](Operation operation) {
    if (is_nccl) return operation != Operation::alltoall;  // which NCCL makes of sends
    return algorithm == nullptr || algorithm->offers(operation);
  };
  if (only && !does(*only))
    throw InputError(where, name + " has no " + std::string(sgdsim::name_of(*only)));
  if (only) return set(*only, algorithm, is_nccl);
  for (std::size_t i = 0; i < chosen_.size(); ++i)
    if (const auto operation = static_cast<Operation>(i); does(operation))
      set(operation, algorithm, is_nccl);
}

std::string AlgorithmChoice::name_of(Operation operation) const {
  if (is_nccl(operation)) return nccl_name;
  const Algorithm* chosen = of(operation);
  return chosen == nullptr ? cheapest_name : std::string(chosen->name);
}

const Algorithm& AlgorithmChoice::cheapest(Operation operation, const TimeOf& time_of) const {
  if (const Algorithm* chosen = of(operation)) return *chosen;
  const Algorithm* best = usual_of(operation);
  double least = time_of(*best);
  for (const Algorithm& algorithm : algorithms()) {
    if (&algorithm == best || !algorithm.offers(operation) || !algorithm.closed_form_note.empty())
      continue;
    try {
      const double time = time_of(algorithm);
      if (time >= least) continue;
      least = time;
      best = &algorithm;
    } catch (const InputError&) {
      // does not fit these ranks
    }
  }
  return *best;
}

AlgorithmChoice usual_algorithms(const Cluster& cluster) {
  AlgorithmChoice choice;
  if (usually_runs_nccl(cluster)) choice.add(nccl_name, "");
  return choice;
}

AlgorithmChoice usual_algorithms(const Cluster& cluster, int ranks) {
  if (ranks >= cluster.network.workers()) return usual_algorithms(cluster);
  Cluster part = cluster;
  part.network = part.network.first(ranks);
  return usual_algorithms(part);
}

std::string usual_algorithm(const Cluster& cluster, Operation operation) {
  return usual_algorithms(cluster).name_of(operation);
}

}  // namespace sgdsim
