// How many elements each gradient has: a profile does not say, so that it comes from elsewhere.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "sim/work/trace.h"

namespace sgdsim::profiler {

// In the order in which the framework registers them.
struct ParameterSizes {
  std::string origin;  // the file
  std::vector<std::pair<std::string, int64_t>> parameters;
};

// A table with a header and the columns name and elements (or numel, parameters), in any order.
ParameterSizes parameter_table(const std::string& text, const std::string& file);
// The tensors of a trace of the same model.
ParameterSizes parameters_like(const Trace& trace, const std::string& file);

}  // namespace sgdsim::profiler
