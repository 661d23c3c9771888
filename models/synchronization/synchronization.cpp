// Reading by name.
#include "models/synchronization/synchronization.h"

#include <algorithm>

#include "models/synchronization/registry.h"

namespace sgdsim {

bool Synchronization::plays_strategy() const {
  const auto* pipeline = std::get_if<PipelineRule>(&rule);
  return pipeline != nullptr && pipeline->layerwise;
}

void Synchronization::send_on(int channels) {
  const auto* pipeline = std::get_if<PipelineRule>(&rule);
  if (pipeline == nullptr || pipeline->width == 1) return;
  const int together = std::min(pipeline->width, channels);
  measured *= together;
  period *= together;
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
  return read_part(value, synchronizations(), "synchronization",
                   [](const SynchronizationKind& kind, Object& fields) {
                     Synchronization synchronization = kind.read(fields);
                     synchronization.name = kind.name;
                     return synchronization;
                   });
}

Field divide_by_staleness_field(bool& divides) {
  return {"divide_by_staleness", divides,
          "sgdsim learn: a gradient that missed s updates counts 1 / (s + 1)"};
}

Json schema_of_synchronizations() {
  return schema_of_parts(texts_of(synchronizations()), {"none"});
}

}  // namespace sgdsim
