// The case holds the trace itself, so that it needs no other file.
#include "app/import/kineto_case.h"

#include <map>

#include "app/validate/case_file.h"
#include "sim/core/error.h"
#include "sim/core/quantity.h"
#include "traces/trace_file.h"

namespace sgdsim {
namespace {

using profiler::GradientBucket;
using profiler::Recording;

// Of buckets of the same size, the least.
Json recorded_curve(const Recording& recording) {
  std::map<Bytes, Duration> times;
  for (const GradientBucket& bucket : recording.buckets) {
    const auto [found, is_new] = times.try_emplace(bucket.size, bucket.transfer);
    if (!is_new) found->second = std::min(found->second, bucket.transfer);
  }
  Json samples = Json::array();
  for (const auto& [size, time] : times)
    samples.push_back({{"size", to_text(size)}, {"time", to_text(time)}});
  return {{"schema", "sgdsim/collective-cost/1"},
          {"source", "The shortest time that was recorded for each size."},
          {"ranks", recording.group_size},
          {"samples", samples}};
}

// The curve says how long messages take; of the machine only the number of ranks matters.
Json any_cluster(const Recording& recording) {
  return {{"shape", "single_switch"},
          {"nodes", recording.group_size},
          {"nic", {{"latency", "0 us"}, {"bandwidth", "100 Gbps"}}}};
}

Json bucket_sizes(const Recording& recording) {
  Json sizes = Json::array();
  for (const GradientBucket& bucket : recording.buckets) sizes.push_back(to_text(bucket.size));
  return sizes;
}

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
                 const std::optional<std::string>& cluster) {
  if (!step.no_buckets.empty()) throw InputError("--case", step.no_buckets);
  if (recording.buckets.empty()) throw InputError("--case", "one rank alone exchanges nothing");
  Json experiment = {{"schema", "sgdsim/experiment/1"}, {"trace", to_json(step.trace)}};
  if (cluster) {
    experiment["cluster"] = *cluster;
  } else {
    experiment["cluster"] = any_cluster(recording);
    experiment["collective"] = recorded_curve(recording);
    experiment["fidelity"] = "closed_form";
  }
  experiment["strategy"] = {{"name", "fixed_buckets"}, {"sizes", bucket_sizes(recording)}};
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
