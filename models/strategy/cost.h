// What the exchange of one gradient message costs: by an algorithm on a cluster, by two constants,
// or by a measured curve.
#pragma once

#include <optional>
#include <vector>

#include "models/collective/collective.h"

namespace sgdsim {

// a + b M, in picoseconds and bytes.
struct Line {
  double start_up_ps = 0;
  double per_byte_ps = 0;
  double at(double size_B) const { return start_up_ps + per_byte_ps * size_B; }
};

struct CostSample {
  Bytes size;
  Duration time;
};

class MessageCost {
 public:
  // The closed form of an algorithm; InputError if it has none for this job.
  static MessageCost of_algorithm(const Algorithm& algorithm, const Job& job);
  // The least of several lines: one, or one per protocol.
  static MessageCost of_lines(std::vector<Line> lines);
  // Interpolated between measured sizes.
  static MessageCost of_samples(std::vector<CostSample> samples);

  // Nothing for no bytes.
  Duration of(Bytes size) const;
  // Lines whose minimum is the cost, exactly (lines) or closely (algorithms); empty for samples.
  const std::vector<Line>& lines() const { return lines_; }
  // The line that rules based on a and b use: for samples, the least squares fit.
  Line line() const;
  bool is_known() const { return is_algorithm() || !lines_.empty() || !samples_.empty(); }
  bool is_algorithm() const { return algorithm_ != nullptr; }
  const Algorithm* algorithm() const { return algorithm_; }
  const Job& job() const { return job_; }
  bool covers(Bytes size) const;  // samples: within the measured range

 private:
  friend class RepeatedCost;
  Duration of(Bytes size, Job& scratch) const;

  const Algorithm* algorithm_ = nullptr;
  Job job_;
  std::vector<Line> lines_;
  std::vector<CostSample> samples_;
};

// One cost for many sizes, without a new job for each.
class RepeatedCost {
 public:
  explicit RepeatedCost(const MessageCost& cost) : cost_(&cost), job_(cost.job()) {}
  Duration of(Bytes size) { return cost_->of(size, job_); }

 private:
  const MessageCost* cost_;
  Job job_;
};

}  // namespace sgdsim
