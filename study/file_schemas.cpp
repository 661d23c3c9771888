// One line for each kind of file.
#include "study/file_schemas.h"

#include <array>

#include "models/training/gpu.h"
#include "study/goodput/failures_file.h"
#include "study/jobs/jobs_file.h"
#include "study/step/collective_field.h"
#include "study/step/experiment.h"
#include "study/sweep/sweep_file.h"
#include "study/traffic/traffic_file.h"
#include "topologies/cluster_file.h"

namespace sgdsim {

std::span<const FileSchema> file_schemas() {
  static constexpr auto table = std::to_array<FileSchema>({
      {"cluster", "A cluster: nodes, links and how they are wired",
       "Every link object describes one link and one direction. A message over a route pays the "
       "sum of the latencies and the largest time per byte of its links. This schema knows fields, "
       "types and units; that numbers agree with each other (sizes of a torus, global links of a "
       "dragonfly, a graph without gaps) is checked by the reader.",
       schema_of_clusters},
      {"collective-cost", "The cost of one exchange as a fitted curve",
       "What `sgdsim fit --out` writes for a curve. The \"collective\" of an experiment may be the "
       "path of such a file.",
       schema_of_measured_curves},
      {"convergence", "How many iterations a training needs",
       "Factors on the iterations of dense training, by what an experiment costs in quality. What "
       "`sgdsim learn --convergence` writes; the \"convergence\" of an experiment may be the path "
       "of such a file.",
       schema_of_convergences},
      {"experiment", "An experiment: what to simulate, on what, and how",
       "Trace, cluster and strategy, and how to simulate them. Paths are relative to the file; "
       "quantities carry their units.",
       schema_of_experiments},
      {"failures", "What fails how often",
       "A source of failures for `sgdsim goodput`: rates by cause. See docs/goodput.md.",
       schema_of_failures},
      {"gpu", "A GPU, for the closed form of a training step",
       "Peaks, memory, and what part of the peak matrix products of a size reach. See "
       "docs/layouts.md.",
       schema_of_gpus},
      {"jobs", "Training jobs, and traffic of others, on one cluster",
       "What `sgdsim jobs` simulates. See docs/traffic.md.", schema_of_jobs},
      {"sweep", "A sweep: an experiment and the values that its fields take",
       "The points are the product of the axes; the last axis is the fastest.", schema_of_sweeps},
      {"traffic", "Plain flows",
       "What `sgdsim traffic` simulates, which needs flows, and what layouts and schedules meet "
       "meanwhile: who sends how much to whom, and when, and what happens to links meanwhile. See "
       "docs/traffic.md.",
       schema_of_traffic_files},
  });
  return table;
}

Json to_json(const FileSchema& schema) {
  Json json = {{"$schema", "https://json-schema.org/draft/2020-12/schema"},
               {"$id", "sgdsim/" + std::string(schema.name) + "/1"},
               {"title", schema.title},
               {"description", schema.description}};
  json.update(schema.fields());
  return json;
}

}  // namespace sgdsim
