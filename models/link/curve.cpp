// Interpolating measured curves.
#include "models/link/curve.h"

#include <algorithm>
#include <cmath>

namespace sgdsim {

namespace {

double bytes(Bytes count) { return static_cast<double>(count.count()); }
double ps(const CostSample& sample) { return static_cast<double>(sample.time.ps()); }

// The line of least squares through the samples of the last octave, two at least. Two neighbours
// alone would do where times are exact; measured ones scatter by more than they grow.
double last_slope(const std::vector<CostSample>& samples) {
  if (samples.size() < 2) return 0;
  std::size_t first = samples.size() - 2;
  const double octave = bytes(samples.back().size) / 2;
  while (first > 0 && bytes(samples[first - 1].size) >= octave) --first;
  const auto count = static_cast<double>(samples.size() - first);
  double mean_B = 0, mean_ps = 0, both = 0, square = 0;
  for (std::size_t i = first; i < samples.size(); ++i) {
    mean_B += bytes(samples[i].size) / count;
    mean_ps += ps(samples[i]) / count;
  }
  for (std::size_t i = first; i < samples.size(); ++i) {
    both += (bytes(samples[i].size) - mean_B) * (ps(samples[i]) - mean_ps);
    square += (bytes(samples[i].size) - mean_B) * (bytes(samples[i].size) - mean_B);
  }
  return std::max(0., both / square);
}

}  // namespace

Curve::Curve(std::vector<CostSample> samples) : samples_(std::move(samples)) {
  std::sort(samples_.begin(), samples_.end(),
            [](const auto& a, const auto& b) { return a.size < b.size; });
  beyond_ps_per_byte_ = last_slope(samples_);
}

Curve Curve::not_faster_than(PerByte line) const {
  Curve curve = *this;
  curve.beyond_ps_per_byte_ = std::max(beyond_ps_per_byte_, line.ps());
  return curve;
}

Duration Curve::at(Bytes size) const {
  const CostSample& first = samples_.front();
  const CostSample& last = samples_.back();
  if (size <= first.size) return first.time;
  if (size > last.size)
    return last.time + Duration::nearest_ps(beyond_ps_per_byte_ * bytes(size - last.size));
  const auto upper = std::lower_bound(samples_.begin(), samples_.end(), size,
                                      [](const CostSample& s, Bytes b) { return s.size < b; });
  const CostSample& high = *upper;
  const CostSample& low = *(upper - 1);
  if (low.size.count() == 0 || low.time <= Duration()) return high.time;
  const double part =
      std::log(bytes(size) / bytes(low.size)) / std::log(bytes(high.size) / bytes(low.size));
  return Duration::nearest_ps(ps(low) * std::pow(ps(high) / ps(low), part));
}

Curve read_curve(const Value& value) {
  std::vector<CostSample> samples;
  for (const Value& item : value.items()) {
    samples.push_back(read_record<CostSample>(item));
    for (std::size_t i = 0; i + 1 < samples.size(); ++i)
      if (samples[i].size == samples.back().size) item.fail("this size occurs twice");
  }
  if (samples.empty()) value.fail("expected at least one sample");
  return Curve(std::move(samples));
}

}  // namespace sgdsim
