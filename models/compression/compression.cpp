// Reading by name, and schedules of densities.
#include "models/compression/compression.h"

#include "models/compression/registry.h"

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

Field feedback_field(bool& feedback) {
  return {
      "feedback", feedback,
      "what a worker has not sent is added to its next gradient; it changes what `sgdsim learn` "
      "learns, and no time"};
}

Compression read_compression(Object& fields, const CompressionContext& context) {
  const Value name = fields.at("name");
  const CompressionKind& kind =
      part_named(compressions(), "compression", name.text(), name.where());
  Compression compression = kind.read(fields, context);
  compression.name = kind.name;
  return compression;
}

Json schema_of_compressions(const Json& general) {
  return schema_of_parts(texts_of(compressions()), {"none"}, general);
}

}  // namespace sgdsim
