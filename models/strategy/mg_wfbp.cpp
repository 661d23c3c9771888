// MG-WFBP's published rule (Shi, Chu and Li, INFOCOM 2019 and TPDS 2021): from the last layer on,
// merge l into l - 1 if r_{l-1} - tau_c(l) < a: waiting for the next gradient costs less than the
// start-up that it saves.
//
// Where the cost is no line a + b M, a is what merging saves: T(group) + T(next) - T(group and
// next).
//
// tau_c(l) is when message l would start. The rule is right for the message that it decides about
// and not for the schedule: if every layer computes for less than a, it merges everything. The
// exact optimum is strategy `optimal`.
#include <algorithm>

#include "models/strategy/registry.h"

namespace sgdsim::strategy::mg_wfbp {
namespace {

GradientPlan plan(const PlanInput& input) {
  const std::vector<int> layers = layers_with_gradients(input.trace);
  GradientPlan plan;
  double free_ps = 0;  // when the channel is free of the messages decided so far
  std::size_t first = 0;
  Bytes group;
  const auto size_of = [&](std::size_t n) {
    return input.trace.layers[static_cast<std::size_t>(layers[n])].gradient;
  };
  for (std::size_t i = 0; i < layers.size(); ++i) {
    auto ready_ps = [&](std::size_t n) {
      return static_cast<double>(input.ready[static_cast<std::size_t>(layers[n])].ps());
    };
    // If this gradient is merged, the group cannot start before it: the channel is as good as busy.
    const double start_ps = std::max(free_ps, ready_ps(i));
    free_ps = start_ps;
    group += size_of(i);
    if (i + 1 < layers.size() &&
        ready_ps(i + 1) - start_ps < input.cost.saved_ps(group, size_of(i + 1)))
      continue;
    plan.messages.push_back(message_of(input.trace, layers[i], layers[first]));
    free_ps += input.cost.planned_ps(group);
    first = i + 1;
    group = Bytes();
  }
  return plan;
}

Strategy read(Object&) { return {.name = "", .plan = plan}; }

}  // namespace

StrategyKind describe() {
  return {"mg_wfbp", "merge while waiting costs less than a start-up (the published rule)",
          no_options, read};
}

}  // namespace sgdsim::strategy::mg_wfbp
