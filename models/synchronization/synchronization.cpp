// Reading by name.
#include "models/synchronization/synchronization.h"

#include "models/synchronization/registry.h"
#include "sim/core/error.h"

namespace sgdsim {

bool Synchronization::plays_strategy() const {
  const auto* pipeline = std::get_if<PipelineRule>(&rule);
  return pipeline != nullptr && pipeline->layerwise;
}

std::vector<std::string> Synchronization::problems_of(int warm_up, int iterations) const {
  std::vector<std::string> problems;
  if (warm_up < transient)
    problems.push_back("`warm_up` " + std::to_string(warm_up) +
                       " ends before the steady state of " + name + ", which " +
                       std::to_string(transient) +
                       " iterations reach: this is not its time in the long run");
  if (iterations < measured || iterations % period != 0)
    problems.push_back("`iterations` " + std::to_string(iterations) +
                       (period > 1 ? " are not whole periods of " + name + ", which have "
                                   : " are fewer than the mean of " + name + " needs, ") +
                       std::to_string(measured) + ": the mean is not its time in the long run");
  return problems;
}

Synchronization read_synchronization(const Value& value) {
  const Json named = {{"name", value.json()}};
  Object fields(value.json().is_string() ? Value(named, value.file(), value.path()) : value);
  const Value name = fields.at("name");
  std::vector<std::string> known;
  for (const SynchronizationKind& kind : synchronizations()) {
    known.emplace_back(kind.name);
    if (kind.name != name.text()) continue;
    Synchronization synchronization = kind.read(fields);
    synchronization.name = kind.name;
    fields.done();
    return synchronization;
  }
  throw InputError(name.where(), unknown_name("synchronization", name.text(), known));
}

}  // namespace sgdsim
