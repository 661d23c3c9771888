// From starts to a plan.
#include "models/step/replanner.h"

#include <algorithm>
#include <utility>

namespace sgdsim {

void Replanner::begins(const WorkerWork& work, Time start) {
  origin_ = begun_ == 0 ? start : std::min(origin_, start);
  if (begun_++ == 0) ready_.assign(work.backward.size(), start);
  raise_ready(work, start, ready_);
}

GradientPlan Replanner::plan(const MessageCost& cost) {
  std::vector<Duration> ready;
  ready.reserve(ready_.size());
  for (const Time layer : ready_) ready.push_back(layer - origin_);
  begun_ = 0;
  GradientPlan plan = question_.strategy->plan({*question_.trace, cost, ready, wakes_ - origin_});
  wakes_ = origin_ + plan.wakes;
  check_plan(question_, plan);
  return plan;
}

}  // namespace sgdsim
