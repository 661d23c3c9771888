// Counts, and the most common ones.
#include "models/diagnose/step_shape.h"

#include <algorithm>
#include <map>

namespace sgdsim::diagnose {
namespace {

constexpr std::size_t index_of(Recorded kind) { return static_cast<std::size_t>(kind); }

}  // namespace

StepShape shape_of(const StepRecord& record, const std::vector<uint32_t>& operations) {
  StepShape shape{};
  for (const uint32_t i : operations) ++shape[index_of(record.operations[i].kind)];
  shape[index_of(Recorded::collection)] = 0;
  for (const Recorded kind : {Recorded::forward_send, Recorded::forward_receive,
                              Recorded::backward_send, Recorded::backward_receive})
    shape[index_of(kind)] = 0;  // some of them are none
  return shape;
}

StepShape usual_shape(const StepRecord& record, const std::vector<std::vector<uint32_t>>& steps) {
  std::map<StepShape, std::size_t> counts;
  for (const std::vector<uint32_t>& operations : steps) ++counts[shape_of(record, operations)];
  StepShape best = shape_of(record, steps.front());
  for (const std::vector<uint32_t>& operations : steps)
    if (const StepShape shape = shape_of(record, operations); counts[shape] > counts[best])
      best = shape;
  return best;
}

std::string difference(const StepShape& shape, const StepShape& usual) {
  for (std::size_t kind = 0; kind < recorded_kinds; ++kind)
    if (shape[kind] != usual[kind])
      return "it has " + std::to_string(shape[kind]) + " of " + std::string(recorded_names[kind]) +
             ", and most steps have " + std::to_string(usual[kind]);
  return {};
}

StepSpans spans_of(const StepRecord& record, const std::vector<uint32_t>& operations) {
  struct Span {
    int64_t first_ns = INT64_MAX;
    int64_t last_ns = INT64_MIN;
    Duration length() const { return Duration::ns(std::max<int64_t>(0, last_ns - first_ns)); }
  };
  std::vector<Span> replicas(static_cast<std::size_t>(record.replicas));
  std::vector<Span> workers(replicas.size() * static_cast<std::size_t>(record.stages));
  Span all;
  for (const uint32_t i : operations) {
    const RecordedOperation& one = record.operations[i];
    for (Span* span : {&workers[static_cast<std::size_t>(record.worker_of(one))],
                       &replicas[static_cast<std::size_t>(one.replica)], &all}) {
      span->first_ns = std::min(span->first_ns, one.start_ns);
      span->last_ns = std::max(span->last_ns, one.end_ns);
    }
  }
  StepSpans spans{all.first_ns, all.last_ns, Duration(), Duration()};
  for (const Span& one : replicas)
    if (one.first_ns != INT64_MAX) spans.replica = std::max(spans.replica, one.length());
  for (const Span& one : workers)
    if (one.first_ns != INT64_MAX) spans.longest = std::max(spans.longest, one.length());
  return spans;
}

std::vector<Duration> recorded_times(const std::vector<StepSpans>& steps, int stages) {
  bool overlap = stages == 1;
  for (std::size_t i = 1; i < steps.size(); ++i)
    overlap = overlap || (steps[i - 1].first_ns < steps[i].first_ns &&
                          steps[i].first_ns < steps[i - 1].last_ns);
  std::vector<Duration> times;
  for (const StepSpans& one : steps)
    times.push_back(overlap ? one.replica : Duration::ns(one.last_ns - one.first_ns));
  return times;
}

}  // namespace sgdsim::diagnose
