// One line for each kind of file.
#include "study/file_schemas.h"

#include <array>

#include "models/training/gpu.h"
#include "models/training/layout.h"
#include "models/training/transformer_file.h"
#include "study/advise/advise_question.h"
#include "study/collective/collective_file.h"
#include "study/collective/collective_report.h"
#include "study/diagnose/compare_answer.h"
#include "study/diagnose/diagnose_answer.h"
#include "study/fit/fit_failures.h"
#include "study/fit/fit_nccl.h"
#include "study/fit/fit_pairs.h"
#include "study/fit/fit_report.h"
#include "study/goodput/failures_file.h"
#include "study/goodput/goodput_fields.h"
#include "study/goodput/goodput_question.h"
#include "study/jobs/jobs_answer.h"
#include "study/jobs/jobs_file.h"
#include "study/layout/layout_output.h"
#include "study/layout/model_laws.h"
#include "study/layout/model_show.h"
#include "study/learn/learn_batches.h"
#include "study/learn/learn_fields.h"
#include "study/need/breaks.h"
#include "study/need/need_question.h"
#include "study/replay/replay_answer.h"
#include "study/step/collective_field.h"
#include "study/step/experiment.h"
#include "study/step/plan.h"
#include "study/step/result_json.h"
#include "study/sweep/axis_points.h"
#include "study/sweep/best.h"
#include "study/sweep/sweep_file.h"
#include "study/sweep/sweep_point.h"
#include "study/sweep/sweep_question.h"
#include "study/traffic/traffic_answer.h"
#include "study/traffic/traffic_file.h"
#include "study/validate/case_file.h"
#include "study/validate/validation_answer.h"
#include "topologies/cluster_file.h"
#include "traces/measurement/measurement.h"
#include "traces/trace_file.h"

namespace sgdsim {

namespace {

Json schema_of_goodput_points() {
  return schema_of_points("sgdsim/goodput-point/1",
                          "what the point gives alone: a value of sgdsim/goodput/1",
                          [] { return reference("../goodput/1"); });
}
Json schema_of_layout_points() {
  return schema_of_points("sgdsim/layout-point/1",
                          "what the point gives alone: a value of sgdsim/layouts/1",
                          [] { return reference("../layouts/1"); });
}

}  // namespace

std::span<const FileSchema> file_schemas() {
  static constexpr auto table = std::to_array<FileSchema>({
      {"advice", "What could be changed about a training step, best first",
       "The answer of `sgdsim advise --format json`.", schema_of_advice},
      {"best", "The best point of every group of a sweep",
       "What `sgdsim sweep --minimize` or `--maximize` prints: groups of points that differ in the "
       "chosen axes "
       "only.",
       schema_of_best},
      {"breaks", "What a step loses with parts of the machine slower or gone",
       "What `sgdsim run --breaks` and `sgdsim layout --breaks` add to their answers. See "
       "docs/need.md.",
       schema_of_breaks},
      {"case", "A measured case: what ran, how long it took, how well it must be predicted",
       "The input of `sgdsim validate`. A row is used in one of four ways: held (it must be "
       "predicted within the tolerance), fitted (it served to find the parameters), reported "
       "(shown, with the reason why it is not held), or below range (its size is below "
       "tolerance.from_size). This schema knows fields, types and units; that an algorithm offers "
       "an operation or an option has an effect is checked by the reader.",
       schema_of_cases},
      {"cluster", "A cluster: nodes, links and how they are wired",
       "Every link object describes one link and one direction. A message over a route pays the "
       "sum of the latencies and the largest time per byte of its links. This schema knows fields, "
       "types and units; that numbers agree with each other (sizes of a torus, global links of a "
       "dragonfly, a graph without gaps) is checked by the reader.",
       schema_of_clusters},
      {"collective", "What one collective costs on one cluster",
       "What `sgdsim collective --format json` prints, and one point of a sweep. There are three "
       "kinds: an answer, an answer of NCCL's model, and a point without an answer, which says "
       "why.",
       schema_of_collective_answers},
      {"collective-cost", "The cost of one exchange as a fitted curve",
       "What `sgdsim fit --out` writes for a curve. The \"collective\" of an experiment may be the "
       "path of such a file.",
       schema_of_measured_curves},
      {"collective-question", "Questions about collectives",
       "What `sgdsim collective FILE` answers: every algorithm with every size and number of "
       "ranks. The fields are the options of the command, and options of the command line win.",
       schema_of_collective_questions},
      {"collective-sweep", "One collective over many sizes, ranks and algorithms",
       "What `sgdsim collective --sweep --format json` prints. A validator needs the schema of a "
       "point beside this one: `sgdsim schema collective`.",
       schema_of_collective_sweeps},
      {"columns", "How many points a sweep has that is answered with columns",
       "The JSON of the library's answer to a sweep with `as_columns`; its points are the columns.",
       schema_of_columns},
      {"comparison", "Recorded steps beside predicted ones",
       "What `sgdsim compare --format json` prints. See docs/diagnose.md.", schema_of_comparisons},
      {"completion", "When plain flows are done", "What `sgdsim traffic --format json` prints.",
       schema_of_completions},
      {"convergence", "How many iterations a training needs",
       "Factors on the iterations of dense training, by what an experiment costs in quality. What "
       "`sgdsim learn --convergence` writes; the \"convergence\" of an experiment may be the path "
       "of such a file.",
       schema_of_convergences},
      {"diagnosis", "What slows recorded training steps",
       "What `sgdsim diagnose --format json` prints. See docs/diagnose.md.", schema_of_diagnoses},
      {"experiment", "An experiment: what to simulate, on what, and how",
       "Trace, cluster and strategy, and how to simulate them. Paths are relative to the file; "
       "quantities carry their units.",
       schema_of_experiments},
      {"failure-fit", "Rates of failures, fitted to a log",
       "What `sgdsim fit --format json` prints of a log of failures. Units are part of the keys.",
       schema_of_failure_fits},
      {"failures", "What fails how often",
       "A source of failures for `sgdsim goodput`: rates by cause. See docs/goodput.md.",
       schema_of_failures},
      {"fit", "Start-up and time per byte, fitted to measured times",
       "What `sgdsim fit --format json` prints. Units are part of the keys.", schema_of_fits},
      {"goodput", "When a training ends that fails, saves and restarts",
       "What `sgdsim goodput --format json` prints. See docs/goodput.md.", schema_of_goodputs},
      {"goodput-point", "One point of a sweep over questions about a training",
       "A line of `sgdsim goodput --axis ... --format json`, and of its --out. See "
       "docs/goodput.md.",
       schema_of_goodput_points},
      {"goodput-question", "A training that fails, saves and restarts",
       "What `sgdsim goodput` is asked. See docs/goodput.md.", schema_of_goodput_questions},
      {"gpu", "A GPU, for the closed form of a training step",
       "Peaks, memory, and what part of the peak matrix products of a size reach. See "
       "docs/layouts.md.",
       schema_of_gpus},
      {"jobs", "Training jobs, and traffic of others, on one cluster",
       "What `sgdsim jobs` simulates. See docs/traffic.md.", schema_of_jobs},
      {"jobs-result", "Training jobs that share a cluster",
       "What `sgdsim jobs --format json` prints.", schema_of_jobs_results},
      {"layout", "How a training step is laid out over GPUs",
       "What --layout takes as a file, in place of the short text. See docs/layouts.md.",
       schema_of_layouts},
      {"layout-point", "One point of a sweep over layouts",
       "A line of `sgdsim layout --axis ... --format json`. See docs/layouts.md.",
       schema_of_layout_points},
      {"layouts", "The fastest parallel layouts of a model",
       "What `sgdsim layout --format json` prints, best first. See docs/layouts.md.",
       schema_of_layout_answers},
      {"learn", "Small models trained in the simulated schedule",
       "What `sgdsim learn --format json` prints and `--out` writes. See docs/learn.md.",
       schema_of_learned},
      {"learn-batches", "Iterations over the number of samples, and the law that they follow",
       "What `sgdsim learn --batches --format json` prints. See docs/learn.md.",
       schema_of_learned_batches},
      {"learn-point", "One point of a sweep over lessons",
       "A line of `sgdsim learn --axis ... --format json`, and of its --out. See docs/learn.md.",
       schema_of_learn_points},
      {"measurement", "Measured times of collectives and of their parts",
       "What `sgdsim-calibrate` and `sgdsim import` write and `sgdsim fit` reads. Units are part "
       "of the keys.",
       schema_of_measurements},
      {"model", "The dimensions of a transformer",
       "What `sgdsim model show` and `sgdsim layout` read: the sizes of its matrices, from which "
       "parameters, FLOP, memory and times follow. See docs/layouts.md.",
       schema_of_models},
      {"model-laws", "What published laws expect of a large training",
       "What `sgdsim model laws --format json` prints. See docs/layouts.md.", schema_of_model_laws},
      {"model-show", "A model: parameters, FLOP, memory of a layout",
       "What `sgdsim model show --format json` prints. See docs/layouts.md.",
       schema_of_model_shows},
      {"nccl-fit", "Constants of NCCL's tuning model, fitted to logs",
       "What `sgdsim fit --from-collective nccl --format json` prints. Units are part of the keys.",
       schema_of_nccl_fits},
      {"pairs-fit", "Links between all pairs of ranks, fitted to messages between them",
       "What `sgdsim fit --from-collective pairs --format json` prints.", schema_of_pairs_fits},
      {"need", "The value of a field with which a target is met",
       "What `sgdsim need --format json` prints. See docs/need.md.", schema_of_needs},
      {"plan", "Every strategy on one experiment, best first",
       "The answer of `sgdsim plan --format json`.", schema_of_plans},
      {"point", "One point of a sweep",
       "One line of what `sgdsim sweep` writes. A point that is none has the field error and no "
       "result.",
       schema_of_sweep_points},
      {"replay", "When every rank of a schedule has ended",
       "What `sgdsim replay --format json` prints.", schema_of_replayed},
      {"result", "The result of one experiment",
       "What the iteration took and where the time went. Times in microseconds count from the "
       "start of the iteration.",
       schema_of_results},
      {"sweep", "A sweep: an experiment and the values that its fields take",
       "The points are the product of the axes; the last axis is the fastest.", schema_of_sweeps},
      {"trace", "A trace: the layers of one training iteration, their gradients and times",
       "One iteration of one worker. This schema knows fields, types and units; that tensors add "
       "up to parameters, that ready times run backwards, and that forward is given once is "
       "checked by the reader.",
       schema_of_traces},
      {"traffic", "Plain flows",
       "What `sgdsim traffic` simulates, which needs flows, and what layouts and schedules meet "
       "meanwhile: who sends how much to whom, and when, and what happens to links meanwhile. See "
       "docs/traffic.md.",
       schema_of_traffic_files},
      {"tune", "The best values of an experiment's fields",
       "What `sgdsim tune --format json` prints.", schema_of_tuned},
      {"validation", "Predicted against measured",
       "What `sgdsim validate --format json` prints. An error is predicted / measured - 1 in "
       "percent; medians and percentiles are of absolute errors, with linear interpolation between "
       "the two nearest rows.",
       schema_of_validations},
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
