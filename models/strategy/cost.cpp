// Evaluating costs, and the constants a and b behind them.
#include "models/strategy/cost.h"

#include <algorithm>
#include <cmath>

#include "sim/core/error.h"

namespace sgdsim {
namespace {

// a: the time with free bytes. b: the time per byte of a message so long that chunks do not matter.
Line line_of(const Algorithm& algorithm, Job job) {
  constexpr double long_B = 0x1p34;
  job.share.total = Bytes(static_cast<int64_t>(long_B));
  job.share.fractional = true;
  const PairCost cost = job.cost;
  job.network = nullptr;  // sub-teams then charge job.cost as well
  job.cost = {cost.latency, {}, {}};
  const auto start_up = closed_form_of(algorithm, job);
  job.cost = cost;
  const auto whole = closed_form_of(algorithm, job);
  if (!start_up || !whole) return {};
  const auto start_up_ps = static_cast<double>(start_up->ps());
  return {start_up_ps, (static_cast<double>(whole->ps()) - start_up_ps) / long_B};
}

Line least_squares(const std::vector<CostSample>& samples) {
  double sum_x = 0, sum_y = 0, sum_xx = 0, sum_xy = 0;
  const auto count = static_cast<double>(samples.size());
  for (const CostSample& sample : samples) {
    const auto x = static_cast<double>(sample.size.count());
    const auto y = static_cast<double>(sample.time.ps());
    sum_x += x;
    sum_y += y;
    sum_xx += x * x;
    sum_xy += x * y;
  }
  const double spread = count * sum_xx - sum_x * sum_x;
  const double slope = spread > 0 ? std::max(0., (count * sum_xy - sum_x * sum_y) / spread) : 0;
  return {std::max(0., (sum_y - slope * sum_x) / count), slope};
}

// Between two samples the curve is straight in logarithms of both axes, which follows the bend from
// start-up to bandwidth with few samples. Below the first sample the time stays what it is there;
// beyond the last it grows as between the last two.
Duration interpolated(const std::vector<CostSample>& samples, Bytes size) {
  const CostSample& first = samples.front();
  const CostSample& last = samples.back();
  if (size <= first.size || samples.size() == 1) return first.time;
  auto bytes = [](Bytes count) { return static_cast<double>(count.count()); };
  auto ps = [](const CostSample& sample) { return static_cast<double>(sample.time.ps()); };
  if (size > last.size) {
    const CostSample& before = samples[samples.size() - 2];
    const double rate = (ps(last) - ps(before)) / bytes(last.size - before.size);
    return last.time + Duration::ps(std::llrint(std::max(0., rate) * bytes(size - last.size)));
  }
  const auto upper = std::lower_bound(samples.begin(), samples.end(), size,
                                      [](const CostSample& s, Bytes b) { return s.size < b; });
  const CostSample& high = *upper;
  const CostSample& low = *(upper - 1);
  if (low.size.count() == 0 || low.time <= Duration()) return high.time;
  const double part =
      std::log(bytes(size) / bytes(low.size)) / std::log(bytes(high.size) / bytes(low.size));
  return Duration::ps(std::llrint(ps(low) * std::pow(ps(high) / ps(low), part)));
}

}  // namespace

MessageCost MessageCost::of_algorithm(const Algorithm& algorithm, const Job& job) {
  MessageCost cost;
  cost.algorithm_ = &algorithm;
  cost.job_ = job;
  cost.lines_ = {line_of(algorithm, job)};
  return cost;
}

MessageCost MessageCost::of_lines(std::vector<Line> lines) {
  MessageCost cost;
  cost.lines_ = std::move(lines);
  return cost;
}

MessageCost MessageCost::of_samples(std::vector<CostSample> samples) {
  MessageCost cost;
  cost.samples_ = std::move(samples);
  std::sort(cost.samples_.begin(), cost.samples_.end(),
            [](const auto& a, const auto& b) { return a.size < b.size; });
  return cost;
}

Duration MessageCost::of(Bytes size) const {
  Job job = job_;
  return of(size, job);
}

Duration MessageCost::of(Bytes size, Job& job) const {
  if (size.count() == 0) return {};
  const auto size_B = static_cast<double>(size.count());
  if (algorithm_ != nullptr) {
    job.share.total = size;
    if (job.size() == 1) return {};
    const auto time = algorithm_->closed_form(job);
    if (!time)
      throw InputError("", "no closed form is known for " + std::string(algorithm_->name) +
                               " with these options; use fidelity message");
    return *time;
  }
  if (!lines_.empty()) {
    double least = lines_.front().at(size_B);
    for (const Line& line : lines_) least = std::min(least, line.at(size_B));
    return Duration::ps(std::llrint(least));
  }
  return interpolated(samples_, size);
}

Line MessageCost::line() const {
  if (!lines_.empty()) return lines_.front();
  return least_squares(samples_);
}

bool MessageCost::covers(Bytes size) const {
  return samples_.empty() || (size >= samples_.front().size && size <= samples_.back().size);
}

}  // namespace sgdsim
