// SyncEASGD, "single layer": all gradients in one message after backward, t_f + t_b + a + b sum M.
#include "models/strategy/registry.h"

namespace sgdsim::strategy::sync_easgd {
namespace {

GradientPlan plan(const PlanInput& input) {
  GradientPlan plan;
  plan.messages = all_in_one(input.trace);
  plan.after_backward = true;
  return plan;
}

Strategy read(Object&) { return {.name = "", .plan = plan, .sends_all_at_once = true}; }

}  // namespace

StrategyKind describe() {
  return {"sync_easgd", "everything in one message after backward", no_options, read};
}

}  // namespace sgdsim::strategy::sync_easgd
