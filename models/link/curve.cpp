// Interpolating measured curves.
#include "models/link/curve.h"

#include <algorithm>
#include <cmath>

namespace sgdsim {

Curve::Curve(std::vector<CostSample> samples) : samples_(std::move(samples)) {
  std::sort(samples_.begin(), samples_.end(),
            [](const auto& a, const auto& b) { return a.size < b.size; });
}

Duration Curve::at(Bytes size) const {
  const CostSample& first = samples_.front();
  const CostSample& last = samples_.back();
  if (size <= first.size || samples_.size() == 1) return first.time;
  auto bytes = [](Bytes count) { return static_cast<double>(count.count()); };
  auto ps = [](const CostSample& sample) { return static_cast<double>(sample.time.ps()); };
  if (size > last.size) {
    const CostSample& before = samples_[samples_.size() - 2];
    const double rate = (ps(last) - ps(before)) / bytes(last.size - before.size);
    return last.time + Duration::nearest_ps(std::max(0., rate) * bytes(size - last.size));
  }
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
    Object one(item);
    samples.push_back({one.at("size").bytes(), one.at("time").duration()});
    one.done();
    for (std::size_t i = 0; i + 1 < samples.size(); ++i)
      if (samples[i].size == samples.back().size) item.fail("this size occurs twice");
  }
  if (samples.empty()) value.fail("expected at least one sample");
  return Curve(std::move(samples));
}

}  // namespace sgdsim
