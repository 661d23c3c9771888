// The case holds the trace itself, so that it needs no other file.
#include "study/import/kineto_case.h"

#include "sim/core/error.h"
#include "sim/core/quantity.h"
#include "study/import/profile_trace.h"
#include "study/validate/case_file.h"
#include "traces/trace_file.h"

namespace sgdsim {
namespace {

using profiler::GradientBucket;
using profiler::Recording;

// Parts of the step are shown beside the iteration: what they are compared with follows from it.
Json part_row(const std::string& part, Duration time) {
  return {{"label", part},
          {"of", part},
          {"time", to_text(time)},
          {"held", false},
          {"reason", "a part of the iteration, which is held"}};
}

Json measured_rows(const Recording& recording) {
  Json messages = Json::array();
  for (const GradientBucket& bucket : recording.buckets) messages.push_back(bucket.size.count());
  Json rows = Json::array();
  rows.push_back(
      {{"label", "iteration"}, {"time", to_text(recording.iteration)}, {"messages_B", messages}});
  const Duration backward = recording.ready.back() - recording.forward;
  if (backward > Duration{}) rows.push_back(part_row("backward", backward));
  if (recording.exposed > Duration{}) rows.push_back(part_row("exposed", recording.exposed));
  return rows;
}

std::string measured_text(const Recording& recording) {
  return "Medians of " + recording.steps_text() + ": an iteration of " +
         to_text(recording.iteration) + ", backward of " +
         to_text(recording.ready.back() - recording.forward) + ", " + to_text(recording.exposed) +
         " of communication after it.";
}

}  // namespace

Json replay_case(const Recording& recording, const profiler::ImportedStep& step,
                 const std::optional<Json>& cluster) {
  if (!step.no_buckets.empty()) throw InputError("--case", step.no_buckets);
  if (recording.buckets.empty()) throw InputError("--case", "one rank alone exchanges nothing");
  Json experiment = {{"schema", "sgdsim/experiment/1"}, {"trace", to_json(step.trace)}};
  if (cluster)
    experiment["cluster"] = *cluster;
  else
    for (const char* part : {"cluster", "collective", "fidelity"})
      experiment[part] = recorded_exchange(recording)[part];
  experiment.update(recorded_strategy(recording));
  return {{"schema", case_schema},
          {"name", step.trace.name},
          {"grade", "B"},
          {"kind", "experiment"},
          {"description", "A recorded training step, replayed with its buckets."},
          {"source",
           {{"origin", step.trace.source},
            {"measured", measured_text(recording)},
            {"fitted", cluster ? "Ready times and update are those of the recorded steps."
                               : "Ready times, update and the time of each all-reduce (the "
                                 "shortest that was recorded) are those of the recorded steps, so "
                                 "that the row tests the replay, not the network."}}},
          {"tolerance",
           {{"median_percent", 5},
            {"p90_percent", 5},
            {"per_algorithm_median_percent", 5},
            {"from_size", "0 B"}}},
          {"experiment", experiment},
          {"measured", measured_rows(recording)}};
}

}  // namespace sgdsim
