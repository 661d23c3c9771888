// Naive S-SGD: layer by layer, after the whole backward: t_f + t_b + sum of T(M_l).
#include "models/strategy/registry.h"

namespace sgdsim::strategy::naive {
namespace {

GradientPlan plan(const PlanInput& input) {
  GradientPlan plan;
  plan.messages = layer_by_layer(input.trace);
  plan.after_backward = true;
  return plan;
}

Strategy read(Object&) { return {.name = "", .plan = plan}; }

}  // namespace

StrategyKind describe() {
  return {"naive", "layer by layer after the whole backward, no overlap", no_options, read};
}

}  // namespace sgdsim::strategy::naive
