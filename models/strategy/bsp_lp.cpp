// BSP-SGD, layer by layer. The abstract of the LP paper (Wang et al., arXiv 1611.04255) names
// broadcasts of parameters and reductions of gradients; that is all of it that was read. The forms
// below are ours.
//
// `exchange`: "broadcast_reduce" broadcasts the parameters of each layer before its forward and
// reduces its gradients after its backward; the root alone updates. "allreduce" reduces to all, who
// all update. `form`: "serial" overlaps nothing; "lockstep" starts the next layer's transfer and
// waits for it after each layer's computation; "fifo" (the default) lets transfers queue.
//
// `drain`: true (the default) lets a collective start when the one before it has ended everywhere;
// false lets every worker go on as soon as it is through, which only message fidelity can tell
// apart.
#include "models/strategy/registry.h"
#include "sim/core/error.h"

namespace sgdsim::strategy::bsp_lp {
namespace {

Strategy read(Object& fields) {
  BspForm form = BspForm::fifo;
  bool broadcasts = false;
  bool drains = true;
  if (const auto field = fields.find("form")) {
    const std::vector<std::string> names = {"serial", "lockstep", "fifo"};
    const std::string name = field->text();
    if (name == "serial")
      form = BspForm::serial;
    else if (name == "lockstep")
      form = BspForm::lockstep;
    else if (name != "fifo")
      field->fail(unknown_name("form", name, names));
  }
  if (const auto field = fields.find("exchange")) {
    const std::string name = field->text();
    if (name != "allreduce" && name != "broadcast_reduce")
      field->fail(unknown_name("exchange", name, {"allreduce", "broadcast_reduce"}));
    broadcasts = name == "broadcast_reduce";
  }
  if (const auto field = fields.find("drain")) drains = field->flag();
  return {.name = "", .plan = [form, broadcasts, drains](const PlanInput& input) {
            GradientPlan plan;
            for (std::size_t l = input.trace.layers.size(); l-- > 0;)
              plan.messages.push_back(
                  message_of(input.trace, static_cast<int>(l), static_cast<int>(l)));
            plan.bsp = form;
            plan.bsp_broadcasts = broadcasts;
            plan.bsp_drains = drains;
            return plan;
          }};
}

}  // namespace

StrategyKind describe() {
  return {"bsp_lp", "BSP-SGD: serial, lockstep or fifo, all-reduce or with a root", read};
}

}  // namespace sgdsim::strategy::bsp_lp
