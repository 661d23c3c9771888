// A simulated step as the result file says it, and as people read it.
#pragma once

#include <ostream>

#include "sim/core/fields.h"
#include "study/figures.h"
#include "study/need/breaks.h"
#include "study/step/experiment.h"
#include "study/step/recorded.h"

namespace sgdsim {

// What follows from a result and its inputs.
struct Metrics {
  double mean_us = 0, p50_us = 0, p95_us = 0, p99_us = 0, max_us = 0;
  int64_t total_ps = 0;  // of all measured iterations
  int64_t mean_ps = 0;
  double overlap_ratio = 0;             // of communication, what ran beside compute; 1 if none
  double throughput_samples_per_s = 0;  // of the whole cluster; 0 if the batch is not stated
  double speedup = 0;                   // over one worker, at the same batch per worker
  double efficiency = 0;                // speedup / workers
};
Metrics metrics_of(const Experiment& experiment, const StepResult& result);

Fields fields_of(const Breakdown& part);
// {"layers": [3, 9], "size_B": 1000, "ready_us": 1, "start_us": 1.5, "end_us": 4}
Fields fields_of(const MessageRecord& message);

// Which part of what its messages take is adding up gradients, by the closed forms.
double reducing_part(const Experiment& experiment, const StepResult& result);

// What a result and a point of a sweep have in common: who ran, how, and the metrics.
Figures summary_of(const Experiment& experiment, const StepResult& result);
Json summary_json(const Experiment& experiment, const StepResult& result);
Json schema_of_summary();  // its properties, and which are required

// sgdsim/result/1, with what was recorded and what breaks where that was asked.
Json result_json(const Experiment& experiment, const StepResult& result,
                 const std::optional<RecordedTruth>& recorded, const std::optional<Breaks>& breaks);
Json schema_of_results();

void print_result(std::ostream& out, const Experiment& experiment, const StepResult& result);

}  // namespace sgdsim
