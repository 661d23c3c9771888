// A measured curve of time against size.
#pragma once

#include <vector>

#include "sim/core/json.h"

namespace sgdsim {

struct CostSample {
  Bytes size;
  Duration time;
};

// Samples by growing size. Between two of them the curve is straight in logarithms of both axes,
// which follows the bend from start-up to bandwidth with few samples. Below the first sample the
// time stays what it is there; beyond the last it grows as between the last two.
class Curve {
 public:
  Curve() = default;
  explicit Curve(std::vector<CostSample> samples);

  bool empty() const { return samples_.empty(); }
  const std::vector<CostSample>& samples() const { return samples_; }
  Duration at(Bytes size) const;
  bool covers(Bytes size) const {
    return size >= samples_.front().size && size <= samples_.back().size;
  }

 private:
  std::vector<CostSample> samples_;
};

// [{"size": "1 MB", "time": "1 ms"}, ...], in any order, no size twice.
Curve read_curve(const Value& value);

}  // namespace sgdsim
