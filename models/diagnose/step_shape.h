// How many operations of each kind a recorded step has (one that has others than most is not
// whole), and how long it took.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "sim/core/units.h"
#include "sim/work/step_record.h"

namespace sgdsim::diagnose {

using StepShape = std::array<std::size_t, recorded_kinds>;

// `operations`: those of the step, as numbers in the record. Kinds that come and go count as none:
// collection, and sends and receives, of which some were never launched.
StepShape shape_of(const StepRecord& record, const std::vector<uint32_t>& operations);
// Which most steps have; of equally many, the first. At least one step.
StepShape usual_shape(const StepRecord& record, const std::vector<std::vector<uint32_t>>& steps);
// A sentence if they differ.
std::string difference(const StepShape& shape, const StepShape& usual);

struct StepSpans {
  int64_t first_ns = 0;  // start of anybody
  int64_t last_ns = 0;   // end of anybody
  Duration replica;      // from the first start to the last end of the replica that took longest
  Duration longest;      // the same of the worker that took longest
};
StepSpans spans_of(const StepRecord& record, const std::vector<uint32_t>& operations);

// What each step took: from the first start to the last end. Where workers begin a step at
// different moments, as one that loaded data for longer does, that is too long: part of it lies in
// the step before or after, of others. So if steps overlap, or have one stage, it is what the
// slowest replica took by itself.
std::vector<Duration> recorded_times(const std::vector<StepSpans>& steps, int stages);

}  // namespace sgdsim::diagnose
