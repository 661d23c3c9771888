// How large flows are: all alike, or drawn from a distribution.
//
// "1 MB"; the name of a published distribution; or {"cdf": [["10 KB", 0.15], ..., ["30 MB", 1]]},
// where sizes between two points are equally likely, and those below the first one too.
#pragma once

#include <utility>
#include <vector>

#include "sim/core/fields.h"
#include "sim/core/random.h"

namespace sgdsim {

class FlowSizes {
 public:
  FlowSizes() = default;
  explicit FlowSizes(const Value& value);

  Bytes draw(Random& random) const;
  double mean_B() const;

 private:
  std::vector<std::pair<double, double>> points_;  // bytes, and the part of flows that have no more
};

inline void read_value(const Value& value, FlowSizes& sizes) { sizes = FlowSizes(value); }
Json schema_of_value(const FlowSizes& sizes);
Field size_field(FlowSizes& sizes);

}  // namespace sgdsim
