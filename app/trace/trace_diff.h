// How two traces differ, layer by layer.
#pragma once

#include <ostream>
#include <string>
#include <vector>

#include "sim/core/fields.h"
#include "sim/work/trace.h"

namespace sgdsim {

struct LayerDifference {
  std::string name;  // empty: of the whole trace
  std::string what;  // as the field says
  double first = 0;  // a count, bytes or us
  double second = 0;
};

Fields fields_of(const LayerDifference& difference);

struct TraceDifference {
  std::vector<LayerDifference> layers;
  double most_percent = 0;  // of times, by the larger one; 100 where all else differs
  bool is_alike = true;     // but for times
};

// Layers are paired by their names, those of the same name in order.
TraceDifference difference_of(const Trace& first, const Trace& second);

// sgdsim/trace-diff/1.
Json to_json(const TraceDifference& difference, const Trace& first, const Trace& second);
Json schema_of_trace_differences();
void print(std::ostream& out, const TraceDifference& difference, const Trace& first,
           const Trace& second);

}  // namespace sgdsim
