// A measured curve of time against size.
#pragma once

#include <vector>

#include "sim/core/fields.h"

namespace sgdsim {

struct CostSample {
  Bytes size;
  Duration time;
};
inline Fields fields_of(CostSample& sample) {
  return {Field("size", sample.size, "size of a message").needed(),
          Field("time", sample.time, "its time").needed()};
}

// Samples by growing size. Between two of them the curve is straight in logarithms of both axes,
// which follows the bend from start-up to bandwidth with few samples. Below the first sample the
// time stays what it is there; beyond the last it grows as within the last octave (the line of
// least squares), and not faster than bytes cross a line, if that is known.
class Curve {
 public:
  Curve() = default;
  explicit Curve(std::vector<CostSample> samples);

  bool empty() const { return samples_.empty(); }
  const std::vector<CostSample>& samples() const { return samples_; }
  Duration at(Bytes size) const;
  // The same curve; beyond its last sample a byte costs at least what it costs on this line.
  Curve not_faster_than(PerByte line) const;
  bool covers(Bytes size) const {
    return size >= samples_.front().size && size <= samples_.back().size;
  }

 private:
  std::vector<CostSample> samples_;
  double beyond_ps_per_byte_ = 0;
};

// [{"size": "1 MB", "time": "1 ms"}, ...], in any order, no size twice.
Curve read_curve(const Value& value);
inline void read_value(const Value& value, Curve& curve) { curve = read_curve(value); }
inline Json schema_of_value(const Curve&) { return list_schema(schema_of_record<CostSample>(), 1); }

}  // namespace sgdsim
