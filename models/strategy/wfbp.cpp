// WFBP, wait-free back-propagation (Zhang et al. 2017; Awan et al. 2017): each layer's gradient
// goes as soon as it is there, one after another, while earlier layers still compute.
#include "models/strategy/registry.h"

namespace sgdsim::strategy::wfbp {
namespace {

GradientPlan plan(const PlanInput& input) {
  GradientPlan plan;
  plan.messages = layer_by_layer(input.trace);
  return plan;
}

Strategy read(Object&) { return {.name = "", .plan = plan}; }

}  // namespace

StrategyKind describe() {
  return {"wfbp", "one message per layer, as soon as it is ready", no_options, read};
}

}  // namespace sgdsim::strategy::wfbp
