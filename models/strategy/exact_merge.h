// The exact optimum of merging on a cost as it is, compression included: `omgs` with rule exact,
// and `optimal` where the cost of a message is no line or compression takes time on the compute
// stream.
#pragma once

#include <limits>

#include "models/strategy/strategy.h"

namespace sgdsim {

// What compressing a group takes of the compute stream, and what exchanging it takes of the
// channel.
struct GroupTime {
  Duration select;    // t_s
  Duration exchange;  // t_c
};

// The gradients of a trace in backward order, and what groups of them cost.
class Gradients {
 public:
  explicit Gradients(const PlanInput& input);
  std::size_t count() const { return layers_.size(); }
  // Backward time up to gradient i, from the start of the iteration.
  Duration backward_until(std::size_t i) const {
    return input_.ready[static_cast<std::size_t>(layers_[i])];
  }
  Bytes size(std::size_t first, std::size_t last) const {
    return before_[last + 1] - before_[first];
  }
  PlannedMessage message(std::size_t first, std::size_t last) const;
  GroupTime group(std::size_t first, std::size_t last);

 private:
  const PlanInput& input_;
  std::vector<int> layers_;
  std::vector<Bytes> before_;  // the bytes before gradient i
  CollectiveJob job_;
};

// Groups of at most cap_B bytes, or of one gradient. InputError, in the name of `strategy`, for
// more gradients than it can merge in some seconds.
std::vector<PlannedMessage> merge_exactly(const PlanInput& input, std::string_view strategy,
                                          double cap_B = std::numeric_limits<double>::infinity());

}  // namespace sgdsim
