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
  Duration all;      // from the first start to the last end
  Duration longest;  // the same of the worker that took longest
};
StepSpans spans_of(const StepRecord& record, const std::vector<uint32_t>& operations);

}  // namespace sgdsim::diagnose
