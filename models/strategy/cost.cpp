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
  if (size.count() == 0) return {};
  const auto size_B = static_cast<double>(size.count());
  if (algorithm_ != nullptr) {
    Job job = job_;
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
  if (samples_.size() == 1) return samples_.front().time;
  auto upper = std::lower_bound(samples_.begin(), samples_.end(), size,
                                [](const CostSample& s, Bytes b) { return s.size < b; });
  upper = std::clamp(upper, samples_.begin() + 1, samples_.end() - 1);
  const CostSample& high = *upper;
  const CostSample& low = *(upper - 1);
  const double part = (size_B - static_cast<double>(low.size.count())) /
                      static_cast<double>((high.size - low.size).count());
  const double ps =
      static_cast<double>(low.time.ps()) + part * static_cast<double>((high.time - low.time).ps());
  return Duration::ps(std::max<int64_t>(0, std::llrint(ps)));
}

Line MessageCost::line() const {
  if (!lines_.empty()) return lines_.front();
  return least_squares(samples_);
}

bool MessageCost::covers(Bytes size) const {
  return samples_.empty() || (size >= samples_.front().size && size <= samples_.back().size);
}

}  // namespace sgdsim
