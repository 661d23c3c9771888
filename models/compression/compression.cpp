// Reading by name, and schedules of densities.
#include "models/compression/compression.h"

#include "models/compression/registry.h"
#include "sim/core/error.h"

namespace sgdsim {

double density_at(const std::vector<DensityStep>& steps, int iteration) {
  return steps.empty() ? 1 : steps[density_step_at(steps, iteration)].density;
}

std::size_t density_step_at(const std::vector<DensityStep>& steps, int iteration) {
  std::size_t step = 0;
  for (; step + 1 < steps.size() && steps[step].iterations > 0; ++step) {
    if (iteration < steps[step].iterations) break;
    iteration -= steps[step].iterations;
  }
  return step;
}

bool read_feedback(Object& fields, bool if_not_given) {
  const auto field = fields.find("feedback");
  return field ? field->flag() : if_not_given;
}

Compression read_compression(Object& fields, const CompressionContext& context) {
  const Value name = fields.at("name");
  std::vector<std::string> known;
  for (const CompressionKind& kind : compressions()) {
    known.emplace_back(kind.name);
    if (kind.name != name.text()) continue;
    Compression compression = kind.read(fields, context);
    compression.name = kind.name;
    return compression;
  }
  throw InputError(name.where(), unknown_name("compression", name.text(), known));
}

}  // namespace sgdsim
