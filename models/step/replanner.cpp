// From starts to a plan.
#include "models/step/replanner.h"

#include <algorithm>

namespace sgdsim {

void Replanner::begins(const WorkerWork& work, Time start) {
  if (begun_++ == 0) {
    first_told_ = origin_ = start;
    ready_.assign(work.backward.size(), Duration());
  }
  origin_ = std::min(origin_, start);
  raise_ready(work, start - first_told_, ready_);
}

GradientPlan Replanner::plan(const MessageCost& cost) {
  for (Duration& layer : ready_) layer += first_told_ - origin_;
  begun_ = 0;
  GradientPlan plan = question_.strategy->plan({*question_.trace, cost, ready_, wakes_ - origin_});
  wakes_ = origin_ + plan.wakes;
  check_plan(question_, plan);
  return plan;
}

}  // namespace sgdsim
