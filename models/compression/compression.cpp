// Reading by name, and schedules of densities.
#include "models/compression/compression.h"

#include "models/compression/registry.h"
#include "sim/core/error.h"

namespace sgdsim {

double density_at(const std::vector<DensityStep>& steps, int iteration) {
  if (steps.empty()) return 1;
  for (const DensityStep& step : steps) {
    if (step.iterations == 0 || iteration < step.iterations) return step.density;
    iteration -= step.iterations;
  }
  return steps.back().density;
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
