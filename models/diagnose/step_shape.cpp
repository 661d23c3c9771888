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
  using Span = std::pair<int64_t, int64_t>;
  std::vector<Span> workers(
      static_cast<std::size_t>(record.replicas) * static_cast<std::size_t>(record.stages),
      {INT64_MAX, INT64_MIN});
  Span all{INT64_MAX, INT64_MIN};
  for (const uint32_t i : operations) {
    const RecordedOperation& one = record.operations[i];
    Span& own = workers[static_cast<std::size_t>(record.worker_of(one))];
    for (Span* span : {&own, &all}) {
      span->first = std::min(span->first, one.start_ns);
      span->second = std::max(span->second, one.end_ns);
    }
  }
  int64_t longest_ns = 0;
  for (const Span& span : workers)
    if (span.second >= span.first) longest_ns = std::max(longest_ns, span.second - span.first);
  return {Duration::ns(all.second - all.first), Duration::ns(longest_ns)};
}

}  // namespace sgdsim::diagnose
